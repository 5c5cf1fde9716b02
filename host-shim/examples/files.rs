// SPDX-License-Identifier: Apache-2.0
//! A file in by reference, a chart and a table out:
//! rustc -C panic=abort files.rs && CODE_EXEC_POLICY=files.json ./files code_execute.so data.csv
//! Approval, secrets and streaming are in gateway.rs.
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::os::unix::io::IntoRawFd;
use std::os::raw::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, mem, process, ptr};

type Text = *const c_char;
type Absent = *const c_void; // a callback that this host does not have

#[repr(C)]
struct ToolHost {
    struct_size: u32, abi_version: u32, user: *mut c_void, call_id: u64, context_json: Text,
    check_capability: extern "C" fn(*mut c_void, Text, &mut u32),
    request_approval: Absent, read_secret: Absent, audit: extern "C" fn(*mut c_void, Text, &mut u32),
    on_output: Absent, log: Absent, check_content: Absent,
    open_file: extern "C" fn(*mut c_void, Text, &mut i32, &mut u64, &mut u32),
    store_file: extern "C" fn(*mut c_void, Text, i32, *mut u8, usize, &mut usize, &mut u32),
}
extern "C" {
    fn dlopen(path: Text, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: Text) -> *mut c_void;
}
const ALLOW: u32 = 0x600D_CA11;
fn text(bytes: Text) -> String { unsafe { CStr::from_ptr(bytes) }.to_string_lossy().into_owned() }
fn argument(index: usize) -> String { env::args().nth(index).unwrap() }

extern "C" fn check_capability(_: *mut c_void, name: Text, verdict: &mut u32) {
    if ["sandbox.exec", "sandbox.exec.files"].contains(&text(name).as_str()) { *verdict = ALLOW; }
}
extern "C" fn audit(_: *mut c_void, record: Text, verdict: &mut u32) {
    eprintln!("audit: {}", text(record));
    *verdict = ALLOW;
}
extern "C" fn open_file(_: *mut c_void, _ref: Text, descriptor: &mut i32, size: &mut u64, verdict: &mut u32) {
    if let Ok((file, length)) = File::open(argument(2)).and_then(|file| file.metadata().map(|data| (file, data.len()))) {
        *descriptor = file.into_raw_fd(); // given away: a File that goes out of scope would close it, too
        (*size, *verdict) = (length, ALLOW);
    }
}
extern "C" fn store_file(_: *mut c_void, _file: Text, descriptor: i32, uri: *mut u8, _capacity: usize, length: &mut usize, verdict: &mut u32) {
    static KEPT: AtomicU32 = AtomicU32::new(1); // the file's "path" is the program's word, so the name is another
    let name = format!("kept-{}", KEPT.fetch_add(1, Ordering::Relaxed));
    // Lent: File::from_raw_fd() would close it.
    if fs::read(format!("/proc/self/fd/{descriptor}")).and_then(|content| fs::write(&name, content)).is_ok() {
        unsafe { ptr::copy_nonoverlapping(name.as_ptr(), uri, name.len()) };
        (*length, *verdict) = (name.len(), ALLOW);
    }
}
fn main() {
    let c = |text: &str| CString::new(text).unwrap().into_raw() as Text;
    let code = r"import pandas\nframe = pandas.read_csv('data.csv')\nframe.plot().figure.savefig('chart.png')\nframe.describe()";
    let call = format!(r#"{{"language": "python", "files": [{{"path": "data.csv", "ref": "data"}}], "code": "{code}"}}"#);
    let context = format!(r#"{{"files": [{{"ref": "data", "name": "data.csv", "size": {}}}]}}"#, fs::metadata(argument(2)).unwrap().len());
    let host = ToolHost { struct_size: mem::size_of::<ToolHost>() as u32, abi_version: 1 << 16 | 2, user: ptr::null_mut(), call_id: 1,
        context_json: c(&context), check_capability, request_approval: ptr::null(), read_secret: ptr::null(), audit,
        on_output: ptr::null(), log: ptr::null(), check_content: ptr::null(), open_file, store_file };
    let mut result: Text = ptr::null();
    let status = unsafe {
        let library = dlopen(c(&argument(1)), 2); // RTLD_NOW
        let invoke: extern "C" fn(Text, Text, &ToolHost, &mut Text) -> i32 = mem::transmute(dlsym(library, c("tool_invoke")));
        invoke(c("code_execute"), c(&call), &host, &mut result)
    };
    println!("result: {}", text(result)); // and tool_free(result), where a gateway goes on
    process::exit(status);
}
