/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of addresses at their edges: the last of a class, and the first behind it. One thread. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "backends/egress/rules/address.h"
#include "tap_suite.h"

static const char *refusal(const char *text, bool private_addresses)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return address_refusal((struct sockaddr *)&four, private_addresses);
    ck_assert_msg(inet_pton(AF_INET6, text, &six.sin6_addr) == 1, "%s", text);
    return address_refusal((struct sockaddr *)&six, private_addresses);
}

/* NULL-terminated */
static const char *const publics[] = {"1.0.0.0",         "8.8.8.8",
                                      "9.255.255.255",   "11.0.0.0",
                                      "100.63.255.255",  "100.128.0.0",
                                      "126.255.255.255", "128.0.0.0",
                                      "169.253.255.255", "169.255.0.0",
                                      "172.15.255.255",  "172.32.0.0",
                                      "191.255.255.255", "192.0.1.0",
                                      "192.0.3.0",       "192.167.255.255",
                                      "192.169.0.0",     "198.17.255.255",
                                      "198.20.0.0",      "198.51.101.0",
                                      "203.0.112.255",   "203.0.114.0",
                                      "223.255.255.255", "2000::1",
                                      "2001:200::1",     "2001:db7::1",
                                      "2001:db9::1",     "2606:4700::1",
                                      "3ffe::1",         "2003::1",
                                      "::ffff:8.8.8.8",  "64:ff9b::8.8.8.8",
                                      "2002:808:808::1", NULL};
/* Unless the endpoint is private. */
static const char *const privates[] = {"10.0.0.0",
                                       "10.255.255.255",
                                       "100.64.0.0",
                                       "100.127.255.255",
                                       "127.0.0.1",
                                       "127.255.255.255",
                                       "169.254.0.0",
                                       "169.254.255.255",
                                       "172.16.0.0",
                                       "172.31.255.255",
                                       "192.0.0.1",
                                       "192.0.2.255",
                                       "192.168.0.0",
                                       "192.168.255.255",
                                       "198.18.0.0",
                                       "198.19.255.255",
                                       "198.51.100.1",
                                       "203.0.113.255",
                                       "240.0.0.0",
                                       "::1",
                                       "fc00::",
                                       "fdff::1",
                                       "fe80::1",
                                       "febf::1",
                                       "fec0::1",
                                       "2001:db8::1",
                                       "2001::1",
                                       "2001:1ff::1",
                                       "3fff::1",
                                       "4000::1",
                                       "100::1",
                                       "::ffff:127.0.0.1",
                                       "::ffff:0:10.0.0.1",
                                       "64:ff9b::10.0.0.1",
                                       "64:ff9b:1::10.0.0.1",
                                       "2002:7f00:1::1",
                                       NULL};
static const char *const nevers[] = {"0.0.0.0",
                                     "0.255.255.255",
                                     "169.254.169.254",
                                     "169.254.170.2",
                                     "100.100.100.200",
                                     "168.63.129.16",
                                     "224.0.0.0",
                                     "239.255.255.255",
                                     "255.255.255.255",
                                     "::",
                                     "ff02::1",
                                     "fd00:ec2::254",
                                     "::ffff:169.254.169.254",
                                     "64:ff9b::a9fe:a9fe",
                                     "2002:a9fe:a9fe::1",
                                     "::ffff:0.0.0.0",
                                     "::8.8.8.8",
                                     NULL};

START_TEST(public_addresses_are_allowed)
{
    for (const char *const *text = publics; *text; text++) {
        ck_assert_msg(!refusal(*text, false), "%s: %s", *text, refusal(*text, false));
        ck_assert_msg(!refusal(*text, true), "%s", *text);
    }
}
END_TEST

START_TEST(others_are_for_private_endpoints)
{
    for (const char *const *text = privates; *text; text++) {
        if (strcmp(*text, "2001::1") != 0) /* Teredo: by the address inside */
            ck_assert_msg(!refusal(*text, true), "%s: %s", *text, refusal(*text, true));
        ck_assert_msg(refusal(*text, false) != NULL, "%s", *text);
    }
}
END_TEST

START_TEST(some_are_for_nobody)
{
    for (const char *const *text = nevers; *text; text++)
        ck_assert_msg(refusal(*text, true) && refusal(*text, false), "%s", *text);
}
END_TEST

START_TEST(other_families_are_for_nobody)
{
    struct sockaddr local = {.sa_family = AF_UNIX};
    ck_assert_ptr_nonnull(address_refusal(&local, true));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("addresses");
    tcase_add_test(cases, public_addresses_are_allowed);
    tcase_add_test(cases, others_are_for_private_endpoints);
    tcase_add_test(cases, some_are_for_nobody);
    tcase_add_test(cases, other_families_are_for_nobody);
    return run_suite("egress addresses", &cases, 1);
}
