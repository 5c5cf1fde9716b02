/* SPDX-License-Identifier: Apache-2.0 */
/* What a test is built with, for cases that a sanitizer's own runtime changes. */
#pragma once

/* gcc says it by a macro, clang 14 by a feature. */
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(UNDER_ADDRESS_SANITIZER)
#define UNDER_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#else
#define UNDER_THREAD_SANITIZER 0
#endif
