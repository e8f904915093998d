// Status and Result<T> report a wrong environment or request.
//
// There are three kinds of failure. A wrong request or environment returns a Status. Damaged trace
// data is counted in the import log (src/store/import_log.h), and reading continues. A bug in
// Headroom asserts.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace headroom {

/// Kind of a failure; each maps to one exit code of the command line.
enum class StatusCode {
  kOk,
  kGateFailed,  ///< A check that the user requested failed; the result exists (exit code 1).
  kUsage,       ///< The request is invalid or impossible (exit code 2).
  kBadInput,    ///< An input cannot be read or is not a trace (exit code 3).
  /// The trace lacks data for an answer; exit code 3 if the user requested only this answer.
  kNoAnswer,
  /// The environment failed, e.g. disk full or no permission to write (exit code 4).
  kEnvironment,
};

/// Success, or a failure with a message that names the problem and the remedy.
class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status Ok() { return Status(); }
  /// Returns `code` with its message; kOk has no message.
  static Status Of(StatusCode code, std::string message) {
    return code == StatusCode::kOk ? Status() : Status(code, std::move(message));
  }
  static Status GateFailed(std::string message) {
    return {StatusCode::kGateFailed, std::move(message)};
  }
  static Status Usage(std::string message) { return {StatusCode::kUsage, std::move(message)}; }
  static Status BadInput(std::string message) {
    return {StatusCode::kBadInput, std::move(message)};
  }
  static Status NoAnswer(std::string message) {
    return {StatusCode::kNoAnswer, std::move(message)};
  }
  static Status Environment(std::string message) {
    return {StatusCode::kEnvironment, std::move(message)};
  }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// A value, or the Status that explains its absence. Never holds an OK status.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!std::get<Status>(state_).ok() && "an OK status has no value");
  }

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status::Ok() : std::get<Status>(state_); }

  /// REQUIRES: ok().
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace headroom
