/* SPDX-License-Identifier: Apache-2.0 */
/* When a cluster counts as one that lets no run reach anything: only where every address was tried,
 * by a probe that can connect. */
#include <check.h>
#include <string.h>

#include "backends/kubernetes/pod/network_probe.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static const char *const targets[] = {"10.96.0.1:443", "[fd00::1]:53"};

static void expect(const char *report, enum network_proof proof, const char *expected_why)
{
    char why[80] = "";
    ck_assert_msg(network_probe_judge(report, strlen(report), targets, COUNT_OF(targets), why,
                                      sizeof(why)) == proof,
                  "%s: %s", report, why);
    ck_assert_str_eq(why, expected_why);
}

START_TEST(a_network_is_closed_where_nothing_is_reached)
{
    expect("control connected\n10.96.0.1:443 timeout\n[fd00::1]:53 101\n", NETWORK_CLOSED, "");
    expect("[fd00::1]:53 113\n10.96.0.1:443 1\nmore 5\ncontrol connected\n", NETWORK_CLOSED, "");
}
END_TEST

START_TEST(one_address_that_answers_opens_it)
{
    expect("control connected\n10.96.0.1:443 connected\n[fd00::1]:53 timeout\n", NETWORK_OPEN,
           "10.96.0.1:443 answered");
    expect("control connected\n10.96.0.1:443 timeout\n[fd00::1]:53 111\n", NETWORK_OPEN,
           "[fd00::1]:53 answered");
    expect("10.96.0.1:443 97\n[fd00::1]:53 connected\n", NETWORK_OPEN, "[fd00::1]:53 answered");
}
END_TEST

START_TEST(what_was_not_tried_is_not_proven)
{
    expect("", NETWORK_NOT_PROVEN, "10.96.0.1:443 was not tried");
    expect("control connected\n10.96.0.1:443 timeout\n", NETWORK_NOT_PROVEN,
           "[fd00::1]:53 was not tried");
    expect("control connected\n10.96.0.1:443 timeout\n[fd00::1]:53 timeout", NETWORK_NOT_PROVEN,
           "[fd00::1]:53 was not tried"); /* cut */
    expect("control connected\n10.96.0.1:443 timeout\n10.96.0.1:443 timeout\n[fd00::1]:53 101\n",
           NETWORK_NOT_PROVEN, "10.96.0.1:443 was not tried");
    expect("control connected\n10.96.0.1:4433 timeout\n[fd00::1]:53 101\n", NETWORK_NOT_PROVEN,
           "10.96.0.1:443 was not tried");
    /* A filter on the probe itself (EAFNOSUPPORT) is not the cluster's doing. */
    expect("control connected\n10.96.0.1:443 97\n[fd00::1]:53 timeout\n", NETWORK_NOT_PROVEN,
           "10.96.0.1:443 was not tried");
    expect("control connected\n10.96.0.1:443 perhaps\n[fd00::1]:53 timeout\n", NETWORK_NOT_PROVEN,
           "10.96.0.1:443 was not tried");
}
END_TEST

START_TEST(a_probe_without_its_control_proves_nothing)
{
    char why[80];
    expect("10.96.0.1:443 timeout\n[fd00::1]:53 101\n", NETWORK_NOT_PROVEN,
           "the probe cannot connect at all");
    expect("control 111\n10.96.0.1:443 timeout\n[fd00::1]:53 101\n", NETWORK_NOT_PROVEN,
           "the probe cannot connect at all");
    expect("control 97\n10.96.0.1:443 timeout\n[fd00::1]:53 101\n", NETWORK_NOT_PROVEN,
           "the probe cannot connect at all");
    ck_assert_int_eq(network_probe_judge("control connected\n", 18, targets, 0, why, sizeof(why)),
                     NETWORK_NOT_PROVEN);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("network probe");
    tcase_add_test(cases, a_network_is_closed_where_nothing_is_reached);
    tcase_add_test(cases, one_address_that_answers_opens_it);
    tcase_add_test(cases, what_was_not_tried_is_not_proven);
    tcase_add_test(cases, a_probe_without_its_control_proves_nothing);
    return run_suite("network probe", &cases, 1);
}
