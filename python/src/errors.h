// Errors of the engine as C++ exceptions; engine.cc turns them into codes for Python.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "base/status.h"

namespace headroom::python {

/// Carries a Status to Python.
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)) {}
  const char* what() const noexcept override { return status_.message().c_str(); }
  StatusCode code() const { return status_.code(); }

 private:
  Status status_;
};

/// The trace does not allow the requested forecast: Python's DoesNotApply.
class DoesNotApplyError : public StatusError {
 public:
  explicit DoesNotApplyError(std::string why) : StatusError(Status::Usage(std::move(why))) {}
};

template <typename T>
T ValueOrThrow(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return std::move(result).value();
}

[[noreturn]] inline void ThrowUsage(std::string message) {
  throw StatusError(Status::Usage(std::move(message)));
}

}  // namespace headroom::python
