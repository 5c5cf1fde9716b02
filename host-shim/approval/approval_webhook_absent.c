/* SPDX-License-Identifier: Apache-2.0 */
/* For a build without libcurl: the webhook is an approver that is not there. */
#include "approval/approval.h"

void approval_by_webhook(const struct approval_question *question, struct approval_decision *ret)
{
    (void)question;
    approval_unavailable(ret, "this toolhost was built without libcurl, and so without webhooks");
}
