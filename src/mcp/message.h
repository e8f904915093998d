// JSON-RPC 2.0 as the Model Context Protocol uses it: parses a line into messages or errors.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::mcp {

/// Error codes of the specification.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kUnsupportedVersion = -32022;  ///< Defined by MCP, not by JSON-RPC.

/// Longest accepted line, in bytes.
inline constexpr std::size_t kLongestLine = std::size_t{4} << 20;

/// A request, a notification, or an invalid message.
struct Message {
  std::string method = {};
  nlohmann::ordered_json params = {};  ///< An object; empty if missing.
  nlohmann::ordered_json id = {};      ///< A string or a number; null: a notification, or unknown.
  bool is_request = false;             ///< Requires an answer.
  /// Message of the error to answer with; empty if the message is valid.
  std::string error = {};
  int error_code = 0;
};

struct Line {
  std::vector<Message> messages;
  bool is_batch = false;  ///< The answers form one array.
};

/// Never fails: an invalid part becomes a message with an error. Drops responses, because this
/// server sends no requests. Rejects values nested more than 64 deep.
Line ParseLine(std::string_view line);

/// Returns an answer as one line with its line break. Invalid UTF-8 becomes U+FFFD.
std::string LineOf(const nlohmann::ordered_json& answer);
nlohmann::ordered_json Answer(const nlohmann::ordered_json& id, nlohmann::ordered_json result);
/// @param data  further data of the error, for programs; null: none
nlohmann::ordered_json ErrorAnswer(const nlohmann::ordered_json& id, int code,
                                   const std::string& message, nlohmann::ordered_json data = {});

}  // namespace headroom::mcp
