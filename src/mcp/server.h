// A server of the Model Context Protocol, for one client over two descriptors. Its tools only read.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "mcp/tool.h"

namespace headroom::mcp {

struct ServerOptions {
  std::string version;       ///< Version of the program.
  std::string instructions;  ///< For the model: the purpose of the tools.
  /// Limit for the text and structured content of an answer together, in bytes before JSON escapes
  /// them.
  std::size_t max_bytes = 20'000;
  std::chrono::milliseconds time_limit{
      std::chrono::seconds(120)};  ///< Limit for one command of a call.
};

/// Reads JSON-RPC messages from `in`, one per line, and answers them on `out`. Returns when `in`
/// has ended and the last call is answered, or when `out` has no reader. Runs at most four calls at
/// once; others wait. Answers invalid messages with errors. Fails (kEnvironment) if `out` is not
/// writable.
Status Serve(int in, int out, const ServerOptions& options, const std::vector<Tool>& tools);

}  // namespace headroom::mcp
