// Calls of the operating system that Linux and macOS spell differently.
#pragma once

#include <array>
#include <string>

namespace headroom {

/// Opens a pipe that child processes do not inherit. Returns false and sets errno on failure.
bool OpenPipe(std::array<int, 2>& ends);

/// Asks the system to send this process a signal when its parent ends. Does nothing where the
/// system cannot do so. Call it between fork() and exec().
void EndWithParent(int signal);

/// Returns the path of the running program, even if its file was replaced after the start; "" if
/// unknown.
std::string ProgramPath();

/// Returns a path to start the running program again, also one whose file was replaced.
std::string ProgramToStart();

}  // namespace headroom
