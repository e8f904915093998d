// Answers that were given before, by what was asked.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"

namespace headroom {

/// Makes an answer once: whoever else asks for it meanwhile waits. Failures are not kept, and the
/// next who waited makes it anew. Safe to use from several threads.
class AnswerCache {
 public:
  /// The answer that was made for this key before, else a new one.
  Result<std::string> Get(const std::string& key, const std::function<Result<std::string>()>& make);

 private:
  const std::string* Find(const std::string& key) const;
  void Keep(const std::string& key, const std::string& answer);

  std::mutex mutex_;  ///< Of all below, and never held while an answer is made.
  std::map<std::string, std::string> answers_;
  std::size_t bytes_ = 0;  ///< Of the answers.
  /// By the key of each answer that is made now; who makes it holds it.
  std::map<std::string, std::weak_ptr<std::mutex>> making_;
};

}  // namespace headroom
