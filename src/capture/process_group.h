// What a recorded program leaves running in a process group that is the recorder's own.
#pragma once

namespace headroom {

/// Makes this process the parent of what programs that it starts leave behind, so that EndGroup()
/// sees the end of it.
void AdoptOrphans();

/// Ends all others in this process's group by SIGTERM, and waits for them, for 5 s at most; nothing
/// where this process is not the group's first, as then others than what it started are in it.
/// REQUIRES: AdoptOrphans() before the first program; signals are held; no program of ours is
/// waited for elsewhere.
void EndGroup();

}  // namespace headroom
