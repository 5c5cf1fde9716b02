// SPDX-License-Identifier: Apache-2.0
// A gateway in Go: API_KEY=... CODE_EXEC_POLICY=policy.json CGO_CFLAGS=-I../../abi go run gateway.go code_execute.so
package main

// #include <dlfcn.h>
// #include "tool_provider.h"
// void checkCapability(void *, char *, uint32_t *);
// void requestApproval(void *, uint64_t, char *, uint32_t *);
// void readSecret(void *, char *, void *, size_t, size_t *, uint32_t *);
// void audit(void *, char *, uint32_t *);
// void onOutput(void *, uint32_t, void *, size_t);
// static inline int32_t call(void *library, char *tool, char *input, char **result) {
//	struct tool_host host = {sizeof(host), TOOL_ABI_VERSION, NULL, 1, NULL, (void *)checkCapability,
//		(void *)requestApproval, (void *)readSecret, (void *)audit, (void *)onOutput};
//	return ((tool_invoke_fn)dlsym(library, "tool_invoke"))(tool, input, &host, result);
// }
// static inline void release(void *library, char *text) { ((tool_free_fn)dlsym(library, "tool_free"))(text); }
import "C"
import "fmt"
import "os"
import "unsafe"

func decide(verdict *C.uint32_t, yes bool) {
	*verdict = map[bool]C.uint32_t{true: C.TOOL_VERDICT_ALLOW, false: C.TOOL_VERDICT_DENY}[yes]
}

//export checkCapability
func checkCapability(_ unsafe.Pointer, name *C.char, verdict *C.uint32_t) {
	decide(verdict, C.GoString(name) == "sandbox.exec" || C.GoString(name) == "sandbox.exec.secrets")
}

//export requestApproval
func requestApproval(_ unsafe.Pointer, token C.uint64_t, request *C.char, verdict *C.uint32_t) {
	fmt.Fprintf(os.Stderr, "%s\nRun this? [y/N] ", C.GoString(request))
	var answer string
	fmt.Scanln(&answer)
	decide(verdict, answer == "y")
}

//export readSecret
func readSecret(_ unsafe.Pointer, name *C.char, buffer unsafe.Pointer, capacity C.size_t, length *C.size_t, verdict *C.uint32_t) {
	value := os.Getenv("API_KEY")
	*length = C.size_t(len(value)) // where it is more than capacity, it is asked for again
	copy(unsafe.Slice((*byte)(buffer), capacity), value)
	decide(verdict, C.GoString(name) == "api-key" && value != "")
}

//export audit
func audit(_ unsafe.Pointer, record *C.char, verdict *C.uint32_t) {
	_, err := fmt.Fprintln(os.Stderr, "audit:", C.GoString(record))
	decide(verdict, err == nil) // what is not stored does not run
}

//export onOutput
func onOutput(_ unsafe.Pointer, stream C.uint32_t, bytes unsafe.Pointer, length C.size_t) {
	os.Stdout.Write(C.GoBytes(bytes, C.int(length)))
}
func main() {
	library := C.dlopen(C.CString(os.Args[1]), C.RTLD_NOW)
	var result *C.char
	call := `{"language": "sh", "code": "echo length ${#KEY}; echo $KEY", "secrets": {"KEY": "{{secret:api-key}}"}}`
	status := C.call(library, C.CString("code_execute"), C.CString(call), &result)
	fmt.Println("result:", C.GoString(result))
	C.release(library, result)
	os.Exit(int(status))
}
