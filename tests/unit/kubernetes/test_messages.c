/* SPDX-License-Identifier: Apache-2.0 */
/* What gateway and kubernetes backend tell each other arrives as it was sent, and nothing else is
 * taken for it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backends/kubernetes/messages/kubernetes_messages.h"
#include "base/cleanup.h"
#include "tap_suite.h"

static char kubeconfig[] = "/etc/code-execute/kubeconfig";
static char name_space[] = "code-execute-runs";
static char pool[] = "code-execute";
static char host[] = "10.96.0.1";

static struct wire_bytes write_options(void)
{
    const struct kubernetes_options options = {.kubeconfig = kubeconfig,
                                               .name_space = name_space,
                                               .warm_pool = pool,
                                               .user_namespace = 1,
                                               .service_host = host};
    struct wire_bytes bytes = {NULL, 0};
    ck_assert(kubernetes_options_write(&options, &bytes));
    return bytes;
}

START_TEST(options_arrive)
{
    struct wire_bytes bytes = write_options();
    struct kubernetes_options options;
    ck_assert(kubernetes_options_read(&bytes, &options));
    ck_assert_str_eq(options.kubeconfig, kubeconfig);
    ck_assert_str_eq(options.name_space, name_space);
    ck_assert_str_eq(options.context, "");
    ck_assert_str_eq(options.warm_pool, pool);
    ck_assert_str_eq(options.service_host, host);
    ck_assert_uint_eq(options.user_namespace, 1);
    kubernetes_options_clear(&options);
    free(bytes.bytes);
}
END_TEST

START_TEST(other_bytes_are_no_options)
{
    struct wire_bytes bytes = write_options();
    struct kubernetes_options options;
    bytes.length--;
    ck_assert(!kubernetes_options_read(&bytes, &options));
    bytes.length = 0;
    ck_assert(!kubernetes_options_read(&bytes, &options));
    free(bytes.bytes);
    char relative[] = "etc/kubeconfig";
    struct kubernetes_options wrong = {.kubeconfig = relative};
    struct wire_bytes none = {NULL, 0};
    if (kubernetes_options_write(&wrong, &none)) {
        ck_assert(!kubernetes_options_read(&none, &options));
        free(none.bytes);
    }
}
END_TEST

START_TEST(reports_arrive)
{
    const struct kubernetes_report report = {.server_version = "v1.34.4",
                                             .name_space = "runs",
                                             .pod = "code-execute-0",
                                             .node = "node-1",
                                             .kernel = "gVisor",
                                             .network_proof = NETWORK_CLOSED};
    struct run_details details = {.length = 0};
    kubernetes_report_write(&report, &details);
    ck_assert_uint_gt(details.length, 0);
    const struct kubernetes_report read = kubernetes_report_read(&details);
    ck_assert_str_eq(read.server_version, "v1.34.4");
    ck_assert_str_eq(read.node, "node-1");
    ck_assert_str_eq(read.kernel, "gVisor");
    ck_assert_uint_eq(read.network_proof, NETWORK_CLOSED);
}
END_TEST

/* The longest of each must have room in an event. */
START_TEST(a_report_has_room)
{
    struct kubernetes_report report;
    struct run_details details = {.length = 0};
    memset(&report, 'x', sizeof(report));
    report.server_version[sizeof(report.server_version) - 1] = '\0';
    report.name_space[sizeof(report.name_space) - 1] = '\0';
    report.pod[sizeof(report.pod) - 1] = '\0';
    report.node[sizeof(report.node) - 1] = '\0';
    report.runtime_class[sizeof(report.runtime_class) - 1] = '\0';
    report.kernel[sizeof(report.kernel) - 1] = '\0';
    report.network_proof = NETWORK_OPEN;
    kubernetes_report_write(&report, &details);
    ck_assert_uint_gt(details.length, 0);
    details.length--;
    ck_assert_str_eq(kubernetes_report_read(&details).pod, "");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("kubernetes messages");
    tcase_add_test(cases, options_arrive);
    tcase_add_test(cases, other_bytes_are_no_options);
    tcase_add_test(cases, reports_arrive);
    tcase_add_test(cases, a_report_has_room);
    return run_suite("kubernetes messages", &cases, 1);
}
