#include "serve/run/nonblocking_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/atomic_file.h"

namespace headroom {

struct NonblockingOutput::Queue {
  explicit Queue(int to) : descriptor(to) {}

  const int descriptor;
  std::mutex mutex;  ///< Guards all members below.
  std::string waiting = {};
  std::size_t left_out = 0;  ///< Dropped bytes after the queued ones.
  bool writing = false, ending = false;
  std::condition_variable changed;

  void Write() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return ending || !waiting.empty(); });
      if (ending) return;
      std::string text = std::exchange(waiting, "");
      if (left_out > 0) {
        text += fmt::format(
            "\nheadroom: {} bytes of the program's output were dropped here: the program printed "
            "faster than the terminal accepts\n",
            std::exchange(left_out, 0));
      }
      writing = true;
      lock.unlock();
      (void)WriteAll(descriptor, text);
      lock.lock();
      writing = false;
      changed.notify_all();
    }
  }
};

NonblockingOutput::NonblockingOutput(int descriptor) : queue_(std::make_shared<Queue>(descriptor)) {
  std::thread([queue = queue_] { queue->Write(); }).detach();
}

NonblockingOutput::~NonblockingOutput() {
  Flush();
  const std::lock_guard<std::mutex> lock(queue_->mutex);
  queue_->ending = true;
  queue_->changed.notify_all();
}

void NonblockingOutput::Append(std::string_view text) {
  const std::lock_guard<std::mutex> lock(queue_->mutex);
  const std::size_t room = queue_->left_out > 0 ? 0 : kMaxWaiting - queue_->waiting.size();
  const std::size_t kept = std::min(room, text.size());
  queue_->waiting += text.substr(0, kept);
  queue_->left_out += text.size() - kept;
  queue_->changed.notify_all();
}

bool NonblockingOutput::Flush() {
  std::unique_lock<std::mutex> lock(queue_->mutex);
  return queue_->changed.wait_for(lock, kPatience,
                                  [this] { return queue_->waiting.empty() && !queue_->writing; });
}

}  // namespace headroom
