/* SPDX-License-Identifier: Apache-2.0 */
/* Vector registers of x86-64 (SSE, AVX, AVX-512) and AArch64. Runs in the gateway, on the thread
 * inside tool_invoke(), and in the helper for secrets. */
#include "base/locked_memory.h"

#if defined(__x86_64__)

static void wipe_sse(void)
{
#define WIPE(number) "pxor %%xmm" #number ", %%xmm" #number "\n"
    __asm__ volatile(WIPE(0) WIPE(1) WIPE(2) WIPE(3) WIPE(4) WIPE(5) WIPE(6) WIPE(7) WIPE(8) WIPE(9)
                         WIPE(10) WIPE(11) WIPE(12) WIPE(13) WIPE(14) WIPE(15)::
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                               "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
                               "xmm15");
#undef WIPE
}

static void wipe_avx(void)
{
    __asm__ volatile("vzeroall" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                           "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/* Those that only AVX-512 has: nothing that is compiled for less uses them but the C library. */
static void wipe_avx512(void)
{
#define WIPE(number) "vpxord %%zmm" #number ", %%zmm" #number ", %%zmm" #number "\n"
    __asm__ volatile(WIPE(16) WIPE(17) WIPE(18) WIPE(19) WIPE(20) WIPE(21) WIPE(22) WIPE(23)
                         WIPE(24) WIPE(25) WIPE(26) WIPE(27) WIPE(28) WIPE(29) WIPE(30) WIPE(31)::);
#undef WIPE
}

void vector_registers_wipe(void)
{
    if (__builtin_cpu_supports("avx512f"))
        wipe_avx512();
    if (__builtin_cpu_supports("avx"))
        wipe_avx();
    else
        wipe_sse();
}

#elif defined(__aarch64__)

void vector_registers_wipe(void)
{
#define WIPE(number) "movi v" #number ".2d, #0\n"
    __asm__ volatile(WIPE(0) WIPE(1) WIPE(2) WIPE(3) WIPE(4) WIPE(5) WIPE(6) WIPE(7) WIPE(8) WIPE(9)
                         WIPE(10) WIPE(11) WIPE(12) WIPE(13) WIPE(14) WIPE(15) WIPE(16) WIPE(17)
                             WIPE(18) WIPE(19) WIPE(20) WIPE(21) WIPE(22) WIPE(23) WIPE(24) WIPE(25)
                                 WIPE(26) WIPE(27) WIPE(28) WIPE(29) WIPE(30) WIPE(31)::
                                     : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",
                                       "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",
                                       "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
                                       "v26", "v27", "v28", "v29", "v30", "v31");
#undef WIPE
}

#else

void vector_registers_wipe(void)
{
}

#endif
