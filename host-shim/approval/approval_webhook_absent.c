/* SPDX-License-Identifier: Apache-2.0 */
/* For a build without libcurl: the webhook is an approver that is not there. */
#include "approval/approver.h"

void approval_by_webhook(const struct approver *approver, const json_t *request,
                         const char *request_json, int cancelled_fd, struct approval_decision *ret)
{
    (void)approver;
    (void)request;
    (void)request_json;
    (void)cancelled_fd;
    approval_unavailable(ret, "this toolhost was built without libcurl, and so without webhooks");
}
