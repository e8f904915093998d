// A server of the Model Context Protocol: one client, over two descriptors, tools that read.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "mcp/tool.h"

namespace headroom::mcp {

struct ServerOptions {
  std::string version;       ///< Of the program.
  std::string instructions;  ///< For the model: what the tools are for.
  /// Of an answer: its text and its structured content together, in bytes, as they are before JSON
  /// escapes them.
  std::size_t max_bytes = 20'000;
  std::chrono::milliseconds time_limit{std::chrono::seconds(120)};  ///< Of one command of a call.
};

/// Answers what comes from `in` on `out`, one JSON-RPC message a line, until `in` ends and the last
/// call is answered, or nobody reads `out` any more. At most four calls run at once; others wait.
/// Messages that are wrong are answered as such. Fails (kEnvironment) where `out` cannot be
/// written.
Status Serve(int in, int out, const ServerOptions& options, const std::vector<Tool>& tools);

}  // namespace headroom::mcp
