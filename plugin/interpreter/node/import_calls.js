// SPDX-License-Identifier: Apache-2.0
// Finds import(...) in the code of a cell. The inspector's code has no way to load modules of its own, so another function is called
// there, whose name is as long: no line and no column moves. Runs in the interpreter of a session.
'use strict';

const NAME = '\u0131mport'; // with a dotless i: a name that no program has
const QUOTED = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"|\/\/[^\n]*|\/\*[^]*?\*\//y;
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const WORD = /[\p{ID_Continue}$#@\u200c\u200d]+/uy;
const CALL = /\s*\(/y;
// Behind these a slash begins a regular expression; behind other words it divides.
const AHEAD_OF_EXPRESSION = new Set(
  ['return', 'typeof', 'case', 'in', 'of', 'delete', 'void', 'throw', 'new', 'else', 'do', 'instanceof', 'await', 'yield'],
);

function endOf(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

// Behind the part of a template that has no code: at its end, or at the code in "${". at: behind what opens it.
function behindTemplate(text, at) {
  while (at < text.length) {
    if (text[at] === '\\') at += 2;
    else if (text[at] === '`') return at + 1;
    else if (text.startsWith('${', at)) return at + 2;
    else at++;
  }
  return at;
}

function places(text) {
  const found = [], braces = []; // true: that of a template
  let before = ''; // the last word or sign
  for (let at = 0; at < text.length;) {
    const sign = text[at];
    let end = endOf(QUOTED, text, at);
    if (end >= 0) {
      if (sign !== '/') before = '"';
    } else if (sign === '`' || (sign === '}' && braces.pop())) {
      end = behindTemplate(text, at + 1);
      before = text[end - 1];
      if (before === '{') braces.push(true);
    } else if (sign === '/' && !/[\p{ID_Continue}$)\]"`]$/u.test(AHEAD_OF_EXPRESSION.has(before) ? '' : before)) {
      end = endOf(REGULAR_EXPRESSION, text, at);
      before = '"';
    } else if ((end = endOf(WORD, text, at)) >= 0) {
      const word = text.slice(at, end);
      if (word === 'import' && before !== '.' && endOf(CALL, text, end) >= 0) found.push(at);
      before = word;
    } else if (sign.trim() !== '') {
      if (sign === '{') braces.push(false);
      before = sign;
    }
    at = end > at ? end : at + 1;
  }
  return found;
}

exports.name = NAME;
// The code with each import(...) called by our name.
exports.rename = function rename(text) {
  if (!/\bimport\s*\(/.test(text)) return text;
  let renamed = '', begin = 0;
  for (const at of places(text)) {
    renamed += text.slice(begin, at) + NAME;
    begin = at + NAME.length;
  }
  return renamed + text.slice(begin);
};
