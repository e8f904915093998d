#include "serve/bounded_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "serve/loopback.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

/// A page sends several requests at once, and browsers keep connections open.
constexpr std::size_t kThreads = 64;
/// Time limit from the first byte of a request to its last.
constexpr std::chrono::seconds kRequestTime{5};
/// Time limit for a connection without a request.
constexpr std::chrono::seconds kIdleTime{5};
/// Time limits for an answer without progress, and for a complete answer: a tunnel may be slow.
constexpr std::chrono::seconds kStallTime{5}, kAnswerTime{120};
/// Limit for the request line and headers; no answered request has a body.
constexpr std::size_t kMaxRequestBytes = std::size_t{64} << 10;
/// Time limit for idle connections and incomplete requests while other connections wait for a
/// thread. A normal request takes much less time to arrive.
constexpr std::chrono::milliseconds kCrowdedTime{500};
/// Interval at which a waiting thread checks whether the server stops.
constexpr std::chrono::milliseconds kGlance{100};

/// Counts the connections that wait for a thread.
class CountingPool final : public httplib::TaskQueue {
 public:
  explicit CountingPool(std::atomic<int>& waiting) : waiting_(waiting), pool_(kThreads) {}

  void enqueue(std::function<void()> answer) override {
    ++waiting_;
    pool_.enqueue([this, answer = std::move(answer)] {
      --waiting_;
      answer();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  std::atomic<int>& waiting_;
  httplib::ThreadPool pool_;
};

/// One connection. Keeps bytes read beyond a request, so that pipelined requests work.
class BoundedStream final : public httplib::Stream {
 public:
  /// @param listener  -1 once the server stops; must outlive the stream
  /// @param waiting   connections that wait for a thread; must outlive the stream
  BoundedStream(socket_t socket, const std::atomic<socket_t>& listener,
                const std::atomic<int>& waiting)
      : socket_(socket), listener_(listener), waiting_(waiting) {}

  /// Waits for the first byte of a request. Returns false if none arrives.
  bool AwaitRequest() {
    answer_deadline_.reset();
    left_ = kMaxRequestBytes;
    crowded_deadline_ = Clock::now() + kCrowdedTime;
    if (begin_ == end_ && !Wait(POLLIN, Clock::now() + kIdleTime)) return false;
    request_deadline_ = Clock::now() + kRequestTime;
    crowded_deadline_ = Clock::now() + kCrowdedTime;
    return true;
  }

  /// Returns true if the client is connected and the server is running.
  bool IsAwaited() const {
    if (listener_ == INVALID_SOCKET) return false;
#ifdef POLLRDHUP
    pollfd polled = {.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return poll(&polled, 1, 0) <= 0;
#else
    pollfd polled = {.fd = socket_, .events = 0, .revents = 0};
    return poll(&polled, 1, 0) <= 0 || (polled.revents & POLLHUP) == 0;
#endif
  }

  /// Reads and discards incoming bytes for a limited time, up to the size limit of a request.
  void Drain() {
    request_deadline_ = Clock::now() + kCrowdedTime;
    for (std::size_t drained = 0; drained < kMaxRequestBytes && Fill() && end_ > 0;)
      drained += end_;
  }

  bool is_readable() const override { return begin_ < end_ || Wait(POLLIN, request_deadline_); }
  bool is_writable() const override {
    const Clock::time_point stalled = Clock::now() + kStallTime;
    return Wait(POLLOUT, std::min(answer_deadline_.value_or(stalled), stalled));
  }

  ssize_t read(char* out, std::size_t size) override {
    if (begin_ == end_ && !Fill()) return -1;
    const std::size_t taken = std::min({size, end_ - begin_, left_});
    if (taken == 0 && begin_ < end_) return -1;  // The request exceeds its size limit.
    std::memcpy(out, buffer_.data() + begin_, taken);
    begin_ += taken;
    left_ -= taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* data, std::size_t size) override {
    if (!answer_deadline_) answer_deadline_ = Clock::now() + kAnswerTime;
    if (!is_writable()) return -1;
    return send(socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override { Name(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { Name(ip, port); }
  socket_t socket() const override { return socket_; }

 private:
  static void Name(std::string& ip, int& port) {
    ip = kLoopback;
    port = 0;
  }

  /// Returns true if the socket becomes ready in time. The time is short for an idle client while
  /// other connections wait for a thread. Returns false at once if the server stops.
  bool Wait(short event, Clock::time_point until) const {
    pollfd polled = {.fd = socket_, .events = event, .revents = 0};
    while (true) {
      const bool stops = listener_ == INVALID_SOCKET;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      const auto glance = stops ? std::chrono::milliseconds(0) : std::clamp(left, {}, kGlance);
      const int ready = poll(&polled, 1, static_cast<int>(glance.count()));
      if (ready > 0) return !stops || event == POLLOUT;
      if ((ready < 0 && errno != EINTR) || stops || left <= glance) return false;
      if (event == POLLIN && waiting_ > 0 && Clock::now() >= crowded_deadline_) return false;
    }
  }

  /// Returns false on an error or a timeout. If the client has closed, returns true with an empty
  /// buffer.
  bool Fill() {
    if (!Wait(POLLIN, request_deadline_)) return false;
    const ssize_t size = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    begin_ = 0;
    end_ = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
    return size >= 0;
  }

  const socket_t socket_;
  const std::atomic<socket_t>& listener_;
  const std::atomic<int>& waiting_;
  Clock::time_point request_deadline_;
  Clock::time_point
      crowded_deadline_;  ///< Deadline of the current wait while others wait for a thread.
  std::optional<Clock::time_point> answer_deadline_;  ///< Set once the answer has begun.
  std::size_t left_ = 0;                              ///< Bytes left of the request's size limit.
  std::array<char, 4096> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< Range of the buffered bytes.
};

/// The connection that the thread answers.
thread_local const BoundedStream* answered = nullptr;

}  // namespace

BoundedServer::BoundedServer() {
  new_task_queue = [this] { return new CountingPool(waiting_); };
  set_payload_max_length(0);
}

void BoundedServer::DeepenBacklog() { ::listen(svr_sock_, SOMAXCONN); }

bool BoundedServer::IsAwaited() { return answered == nullptr || answered->IsAwaited(); }

bool BoundedServer::HasBody(const httplib::Request& request) {
  const std::size_t lengths = request.get_header_value_count("Content-Length");
  return request.has_header("Transfer-Encoding") || lengths > 1 ||
         (lengths == 1 && request.get_header_value("Content-Length") != "0");
}

bool BoundedServer::process_and_close_socket(socket_t socket) {
  BoundedStream stream(socket, svr_sock_, waiting_);
  bool fine = true, is_left_over = false;
  answered = &stream;
  for (std::size_t left = keep_alive_max_count_; left > 0 && stream.AwaitRequest(); --left) {
    bool closed = false, has_headers = false;
    fine = process_request(stream, left == 1, closed, [&](httplib::Request& request) {
      has_headers = true;
      is_left_over = HasBody(request);
      request.ranges.clear();
    });
    // The server reads no bodies. It must not parse the rest of a body or of bad headers as a
    // request.
    is_left_over |= fine && !has_headers;
    if (!fine || closed || is_left_over) break;
  }
  answered = nullptr;
  if (is_left_over) {
    // Closing with unread bytes resets the connection, and the client may lose the answer.
    shutdown(socket, SHUT_WR);
    stream.Drain();
  }
  shutdown(socket, SHUT_RDWR);
  close(socket);
  return fine;
}

}  // namespace headroom
