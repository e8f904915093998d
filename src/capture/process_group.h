// Ends the processes that a recorded program leaves running in the recorder's process group.
#pragma once

namespace headroom {

/// Makes this process the parent of orphans of its programs, so that EndGroup() sees them end.
void AdoptOrphans();

/// Ends all other processes in this group by SIGTERM and waits for them, at most 5 s. Does nothing
/// if this process is not the group leader, because the group then contains unrelated processes.
///
/// REQUIRES: AdoptOrphans() before the first program; signals are held; no other code waits for
/// programs of this process.
void EndGroup();

}  // namespace headroom
