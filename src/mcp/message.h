// JSON-RPC 2.0 as the Model Context Protocol uses it: a line in, messages out, and what is wrong
// with it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::mcp {

/// The specification's codes of errors.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kUnsupportedVersion = -32022;  ///< Of the protocol's, not of JSON-RPC's.

/// Longest line that is read, in bytes.
inline constexpr std::size_t kLongestLine = std::size_t{4} << 20;

/// A request, a notification, or what is neither.
struct Message {
  std::string method = {};
  nlohmann::ordered_json params = {};  ///< An object; empty where there was none.
  nlohmann::ordered_json id = {};      ///< A string or a number; null: a notification, or unknown.
  bool is_request = false;             ///< It wants an answer.
  /// Answers with an error, and nothing else; empty: it is fine.
  std::string error = {};
  int error_code = 0;
};

struct Line {
  std::vector<Message> messages;
  bool is_batch = false;  ///< The answers go into one array.
};

/// Never fails: what is wrong is an error of a message. Answers to requests, of which we send none,
/// are left out. Values nested more than 64 deep are refused.
Line ParseLine(std::string_view line);

/// What goes back, as one line with its break. Bytes that are no UTF-8 become U+FFFD.
std::string LineOf(const nlohmann::ordered_json& answer);
nlohmann::ordered_json Answer(const nlohmann::ordered_json& id, nlohmann::ordered_json result);
/// @param data  more of the error, for programs; null: none
nlohmann::ordered_json ErrorAnswer(const nlohmann::ordered_json& id, int code,
                                   const std::string& message, nlohmann::ordered_json data = {});

}  // namespace headroom::mcp
