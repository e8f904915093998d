// Caches answers by request.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"

namespace headroom {

/// Computes each answer once; other threads that request it meanwhile wait. Failures are not
/// cached: the next waiting thread computes the answer again. Thread-safe.
class AnswerCache {
 public:
  /// Returns the cached answer for this key, or makes a new one.
  Result<std::string> Get(const std::string& key, const std::function<Result<std::string>()>& make);

 private:
  const std::string* Find(const std::string& key) const;
  void Keep(const std::string& key, const std::string& answer);

  std::mutex mutex_;  ///< Guards all members below; never held while an answer is computed.
  std::map<std::string, std::string> answers_;
  std::size_t bytes_ = 0;  ///< Total size of the answers.
  /// One mutex for each answer that is being computed, by key. The computing thread holds it.
  std::map<std::string, std::weak_ptr<std::mutex>> making_;
};

}  // namespace headroom
