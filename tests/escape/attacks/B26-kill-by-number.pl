# SPDX-License-Identifier: Apache-2.0
# attack: B26
# title: kill a process of the host by its number
# backends: docker, process
# expect: completed exit
# layers: pid namespace
# evidence: death
# control docker: processes
# control process: processes user landlock
kill "KILL", $ENV{SENTINEL};
print "$ENV{TRIED}\n";
