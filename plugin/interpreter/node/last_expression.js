// SPDX-License-Identifier: Apache-2.0
// Finds the expression that a CommonJS program ends with, and adds text behind it that hands over its value. Nothing in front of
// that text moves, so the program's lines and columns stay the same. Node has no parser for programs: V8 confirms each step by
// compiling, and where it does not, the program is left as it is.
'use strict';

const { compileFunction } = require('vm');

const LENGTH_LIMIT = 1 << 17; // characters of a program: V8 reads it up to four times
const LINES_LIMIT = 200; // of the expression
const CANDIDATES_LIMIT = 8; // statements in its last line
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'];
// No expression, or one whose value is undefined: most programs end so.
const NO_VALUE = /^(?:(?:async\s+function|break|case|class|const|continue|debugger|do|else|export|for|function|if|let|return|switch|throw|try|var|while|with)\b|import\s*['"{*\w]|console\.\w+\s*\(|[{}\])@#;])/;
// Would go on with a statement in front that has no semicolon.
const GOES_ON = /^[([`+\-/]/;
const OPERATOR = /^(?:\*\*|<<|>>>|>>|<=|>=|[+\-*/%<>]|(?:in|instanceof)(?![\w$]))/;
const PREFIX = /^(?:(?:typeof|void|delete)(?![\w$])|\+\+|--|[!~+-])\s*/;

function compiles(source) {
  try {
    compileFunction(source, PARAMETERS);
    return true;
  } catch {
    return false;
  }
}

// The heritage of a class takes a call, a member, a literal or brackets, but no operator.
function isOperand(text) {
  return text !== '' && compiles(`(class extends\n${text}\n{})`);
}

// Behind a text, template or comment that begins at a place; -1: it has no end.
function behindQuoted(text, at) {
  const quote = text[at];
  if (quote === '/') {
    const end = text[at + 1] === '/' ? text.indexOf('\n', at) : text.indexOf('*/', at + 2) + 1;
    return end <= 0 ? -1 : end + 1;
  }
  for (let i = at + 1; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === quote) return i + 1;
    else if (quote === '`' && text[i] === '$' && text[i + 1] === '{') return -1;
  }
  return -1;
}

// What stands between the operators outside of brackets; null: it cannot be told. Whether each is an operand is V8's to say, so a
// cut in a wrong place is noticed.
function operandsOf(text) {
  const operands = [];
  let depth = 0, begin = 0;
  for (let i = 0; i < text.length;) {
    const piece = text.slice(begin, i).trim();
    const operator = depth === 0 && piece !== '' && !/[\w$]/.test(/\w/.test(text[i]) ? text[i - 1] : '') ? OPERATOR.exec(text.slice(i, i + 12)) : null;
    if ('\'"`'.includes(text[i]) || (text[i] === '/' && '/*'.includes(text[i + 1]))) {
      i = behindQuoted(text, i);
      if (i < 0) return null;
    } else if (operator && !/^(?:\+\+|--)/.test(text.slice(i))) {
      operands.push(piece);
      i += operator[0].length;
      begin = i;
      while (PREFIX.test(text.slice(i).trimStart())) {
        const rest = text.slice(i).trimStart();
        i = begin = text.length - rest.length + PREFIX.exec(rest)[0].length;
      }
    } else {
      if ('([{'.includes(text[i])) depth++;
      else if (')]}'.includes(text[i])) depth--;
      i++;
    }
  }
  operands.push(text.slice(begin).trim());
  return operands;
}

// An operator behind it, of the precedence of "instanceof", would take all of it.
function bindsTighter(text) {
  let rest = text.trim();
  if (isOperand(rest)) return true;
  for (let match = PREFIX.exec(rest); match; match = PREFIX.exec(rest)) rest = rest.slice(match[0].length);
  const operands = operandsOf(rest);
  return operands !== null && operands.length <= 64 && operands.every(isOperand);
}

function isEndedBefore(before, expression) {
  if (!GOES_ON.test(expression) || before.trim() === '') return true;
  const line = before.trimEnd().split('\n').pop();
  return line.endsWith(';') && !/\/[/*]|\*\//.test(line);
}

// Where the program's last line of code ends: behind it are blank lines and lines of comments.
function endOfCode(source) {
  let end = source.trimEnd().length;
  for (;;) {
    const begin = source.lastIndexOf('\n', end - 1) + 1;
    if (end === 0 || !source.slice(begin, end).trimStart().startsWith('//')) return end;
    end = source.slice(0, begin).trimEnd().length;
  }
}

// Places at which the last statement may begin.
function beginnings(source, end) {
  let line = source.lastIndexOf('\n', end - 1) + 1;
  for (let i = 0; /[\s)\]}.?:,]/.test(source[line]) && line > 0; i++) {
    if (i === LINES_LIMIT) return [];
    line = source.lastIndexOf('\n', line - 2) + 1;
  }
  const found = [line];
  const text = source.slice(line, end);
  if (!text.includes('\n') && !/\/[/*]/.test(text))
    for (let i = text.indexOf(';'); i >= 0 && i < text.length - 1 && found.length <= CANDIDATES_LIMIT; i = text.indexOf(';', i + 1))
      found.push(line + i + 1 + /^\s*/.exec(text.slice(i + 1))[0].length);
  return found;
}

function withHook(source, begin, end, name) {
  const before = source.slice(0, begin);
  const closed = /;\s*(?:\/\/[^\n]*|\/\*[^\n]*\*\/\s*)?$/.exec(source.slice(begin, end));
  const expression = closed ? source.slice(begin, begin + closed.index) : source.slice(begin, end);
  if (expression === '' || NO_VALUE.test(expression) || !isEndedBefore(before, expression) || !bindsTighter(expression) || !compiles(before))
    return null;
  const comment = closed ? closed[0].slice(1) : '';
  const changed = `${before}${expression}${comment}\ninstanceof ${name};${source.slice(end)}`;
  return compiles(changed) ? changed : null;
}

// The program with " instanceof NAME" behind its last expression; null where it ends with none, or with one that cannot be told
// apart with certainty. The semicolon of that expression is left out.
exports.addHook = function addHook(source, name) {
  if (source.length > LENGTH_LIMIT) return null;
  const end = endOfCode(source);
  if (end === 0) return null;
  for (const begin of beginnings(source, end)) {
    const changed = withHook(source, begin, end, name);
    if (changed !== null) return changed;
  }
  return null;
};
