// Answers that were given before, by what was asked.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/status.h"

namespace headroom {

/// Makes one answer at a time; whoever else asks waits. Failures are not kept. Safe to use from
/// several threads.
class AnswerCache {
 public:
  /// The answer that was made for this key before, else a new one.
  Result<std::string> Get(const std::string& key, const std::function<Result<std::string>()>& make);

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::size_t bytes_ = 0;  ///< Of the answers.
};

}  // namespace headroom
