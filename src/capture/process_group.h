// Ends the processes that a recorded program leaves running in the recorder's process group.
#pragma once

namespace headroom {

/// Makes this process the parent of its descendants' orphans, so that EndGroup() can wait for them.
void AdoptOrphans();

/// Sends SIGTERM to all other processes in this process's group and waits at most 5 s for their
/// end. Does nothing if this process is not the group leader: the group then contains unrelated
/// processes.
///
/// REQUIRES: AdoptOrphans() was called before the first program started; a HeldSignals exists; no
/// other code waits for child processes.
void EndGroup();

}  // namespace headroom
