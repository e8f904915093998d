#include "serve/answer_cache.h"

namespace headroom {
namespace {

/// Some hundreds of answers; beyond, all are forgotten.
constexpr std::size_t kMostBytes = std::size_t{32} << 20;

}  // namespace

Result<std::string> AnswerCache::Get(const std::string& key,
                                     const std::function<Result<std::string>()>& make) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = answers_.find(key); found != answers_.end()) return found->second;
  Result<std::string> answer = make();
  if (!answer.ok()) return answer;
  if (bytes_ + answer.value().size() > kMostBytes) {
    answers_.clear();
    bytes_ = 0;
  }
  bytes_ += answer.value().size();
  answers_.emplace(key, answer.value());
  return answer;
}

}  // namespace headroom
