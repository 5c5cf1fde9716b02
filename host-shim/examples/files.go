// SPDX-License-Identifier: Apache-2.0
// A file in by reference, a chart and a table out:
// CODE_EXEC_POLICY=files.json CGO_CFLAGS=-I../../abi go run files.go code_execute.so data.csv
// Approval, secrets and streaming are in gateway.go.
package main

// #include <dlfcn.h>
// #include "tool_provider.h"
// void checkCapability(void *, char *, uint32_t *);
// void audit(void *, char *, uint32_t *);
// void openFile(void *, char *, int32_t *, uint64_t *, uint32_t *);
// void storeFile(void *, char *, int32_t, char *, size_t, size_t *, uint32_t *);
// static inline int32_t call(void *library, char *tool, char *input, char *context, char **result) {
//	struct tool_host host = {.struct_size = sizeof(host), .abi_version = TOOL_ABI_VERSION, .call_id = 1, .context_json = context,
//		.check_capability = (void *)checkCapability, .audit = (void *)audit, .open_file = (void *)openFile, .store_file = (void *)storeFile};
//	return ((tool_invoke_fn)dlsym(library, "tool_invoke"))(tool, input, &host, result);
// }
// static inline void release(void *library, char *text) { ((tool_free_fn)dlsym(library, "tool_free"))(text); }
import "C"
import "fmt"
import "os"
import "syscall"
import "unsafe"

var kept int

//export checkCapability
func checkCapability(_ unsafe.Pointer, name *C.char, verdict *C.uint32_t) {
	if C.GoString(name) == "sandbox.exec" || C.GoString(name) == "sandbox.exec.files" {
		*verdict = C.TOOL_VERDICT_ALLOW
	}
}

//export audit
func audit(_ unsafe.Pointer, record *C.char, verdict *C.uint32_t) {
	if _, err := fmt.Fprintln(os.Stderr, "audit:", C.GoString(record)); err == nil {
		*verdict = C.TOOL_VERDICT_ALLOW
	}
}

// A plain descriptor, which the provider closes: an *os.File would close its number once more, whoever has it by then.
//
//export openFile
func openFile(user unsafe.Pointer, ref *C.char, descriptor *C.int32_t, size *C.uint64_t, verdict *C.uint32_t) {
	var status syscall.Stat_t
	opened, err := syscall.Open(os.Args[2], syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err == nil && syscall.Fstat(opened, &status) == nil {
		*descriptor, *size, *verdict = C.int32_t(opened), C.uint64_t(status.Size), C.TOOL_VERDICT_ALLOW
	}
}

// The file's "path" is the program's word, so the name is another. os.NewFile(descriptor) would close what is lent.
//
//export storeFile
func storeFile(user unsafe.Pointer, file *C.char, descriptor C.int32_t, uri *C.char, capacity C.size_t, length *C.size_t, verdict *C.uint32_t) {
	kept++
	name := fmt.Sprintf("kept-%d", kept)
	content, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", descriptor))
	if err == nil && os.WriteFile(name, content, 0600) == nil {
		*length = C.size_t(copy(unsafe.Slice((*byte)(unsafe.Pointer(uri)), capacity), name))
		*verdict = C.TOOL_VERDICT_ALLOW
	}
}
func main() {
	library, result := C.dlopen(C.CString(os.Args[1]), C.RTLD_NOW), (*C.char)(nil)
	data, _ := os.Stat(os.Args[2])
	call := `{"language": "python", "files": [{"path": "data.csv", "ref": "data"}], "code": "import pandas\n` +
		`frame = pandas.read_csv('data.csv')\nframe.plot().figure.savefig('chart.png')\nframe.describe()"}`
	context := fmt.Sprintf(`{"files": [{"ref": "data", "name": "data.csv", "size": %d}]}`, data.Size())
	status := C.call(library, C.CString("code_execute"), C.CString(call), C.CString(context), &result)
	fmt.Println("result:", C.GoString(result))
	C.release(library, result)
	os.Exit(int(status))
}
