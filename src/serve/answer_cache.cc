#include "serve/answer_cache.h"

namespace headroom {
namespace {

/// Limit for the total size of all answers, in bytes: enough for several hundred answers. The cache
/// is cleared before an answer would exceed it.
constexpr std::size_t kMaxBytes = std::size_t{32} << 20;

}  // namespace

const std::string* AnswerCache::Find(const std::string& key) const {
  const auto found = answers_.find(key);
  return found == answers_.end() ? nullptr : &found->second;
}

void AnswerCache::Keep(const std::string& key, const std::string& answer) {
  if (bytes_ + answer.size() > kMaxBytes) {
    answers_.clear();
    bytes_ = 0;
  }
  if (answers_.emplace(key, answer).second) bytes_ += answer.size();
}

Result<std::string> AnswerCache::Get(const std::string& key,
                                     const std::function<Result<std::string>()>& make) {
  std::shared_ptr<std::mutex> turn;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const std::string* answer = Find(key)) return *answer;
    std::erase_if(making_, [](const auto& one) { return one.second.expired(); });
    turn = making_[key].lock();
    if (turn == nullptr) {
      turn = std::make_shared<std::mutex>();
      making_[key] = turn;
    }
  }
  const std::lock_guard<std::mutex> mine(*turn);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const std::string* answer = Find(key)) return *answer;
  }
  Result<std::string> answer = make();
  if (!answer.ok()) return answer;
  const std::lock_guard<std::mutex> lock(mutex_);
  Keep(key, answer.value());
  return answer;
}

}  // namespace headroom
