// SPDX-License-Identifier: Apache-2.0
//! A gateway in Rust, std alone: rustc -C panic=abort gateway.rs && API_KEY=... CODE_EXEC_POLICY=... ./gateway code_execute.so
use std::ffi::{CStr, CString};
use std::io::{self, Write};
use std::os::raw::{c_char, c_int, c_void};
use std::{env, mem, process, ptr, slice};

type Text = *const c_char;

#[repr(C)]
struct ToolHost {
    struct_size: u32, abi_version: u32, user: *mut c_void, call_id: u64, context_json: Text,
    check_capability: extern "C" fn(*mut c_void, Text, &mut u32),
    request_approval: extern "C" fn(*mut c_void, u64, Text, &mut u32),
    read_secret: extern "C" fn(*mut c_void, Text, *mut u8, usize, &mut usize, &mut u32),
    audit: extern "C" fn(*mut c_void, Text, &mut u32),
    on_output: extern "C" fn(*mut c_void, u32, *const u8, usize),
}
extern "C" {
    fn dlopen(path: Text, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: Text) -> *mut c_void;
}
fn text(bytes: Text) -> String { unsafe { CStr::from_ptr(bytes) }.to_string_lossy().into_owned() }
fn verdict(yes: bool) -> u32 { if yes { 0x600D_CA11 } else { 0 } }

extern "C" fn check_capability(_: *mut c_void, name: Text, to: &mut u32) {
    *to = verdict(["sandbox.exec", "sandbox.exec.secrets"].contains(&text(name).as_str()));
}
extern "C" fn request_approval(_: *mut c_void, _: u64, request: Text, to: &mut u32) {
    let mut answer = String::new();
    eprint!("{}\nRun this? [y/N] ", text(request));
    *to = verdict(io::stdin().read_line(&mut answer).is_ok() && answer.trim() == "y");
}
extern "C" fn read_secret(_: *mut c_void, name: Text, buffer: *mut u8, capacity: usize, length: &mut usize, to: &mut u32) {
    let value = if text(name) == "api-key" { env::var("API_KEY").unwrap_or_default() } else { String::new() };
    *length = value.len(); // where it is more than capacity, it is asked for again with a larger buffer
    unsafe { ptr::copy_nonoverlapping(value.as_ptr(), buffer, value.len().min(capacity)) };
    *to = verdict(!value.is_empty());
}
extern "C" fn audit(_: *mut c_void, record: Text, to: &mut u32) {
    *to = verdict(writeln!(io::stderr(), "audit: {}", text(record)).is_ok()); // what is not stored does not run
}
extern "C" fn on_output(_: *mut c_void, _stream: u32, bytes: *const u8, length: usize) {
    let _ = io::stdout().write_all(unsafe { slice::from_raw_parts(bytes, length) });
}
fn main() {
    let c = |text: &str| CString::new(text).unwrap().into_raw() as Text;
    let call = r#"{"language": "sh", "code": "echo length ${#KEY}; echo $KEY", "secrets": {"KEY": "{{secret:api-key}}"}}"#;
    let host = ToolHost { struct_size: mem::size_of::<ToolHost>() as u32, abi_version: 1 << 16, user: ptr::null_mut(), call_id: 1,
        context_json: ptr::null(), check_capability, request_approval, read_secret, audit, on_output };
    let mut result: Text = ptr::null();
    let status = unsafe {
        let library = dlopen(c(&env::args().nth(1).unwrap()), 2); // RTLD_NOW
        let invoke: extern "C" fn(Text, Text, &ToolHost, &mut Text) -> i32 = mem::transmute(dlsym(library, c("tool_invoke")));
        invoke(c("code_execute"), c(call), &host, &mut result)
    };
    println!("result: {}", text(result)); // and tool_free(result), where a gateway goes on
    process::exit(status);
}
