// SPDX-License-Identifier: Apache-2.0
#include "lifelines.h"

#include <belay/error.h>
#include <belay/tensor_text.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <sstream>
#include <utility>

#include "interface_address.h"

namespace belay_gloo {
namespace {

using belay::Code;

constexpr std::int32_t kAlive = 1, kLeft = 2, kEnded = 3, kSilent = 4, kRefused = 5, kOtherSize = 6;
constexpr std::chrono::milliseconds kBetweenLooks{20};  // while this rank waits for others
constexpr std::chrono::milliseconds kEndOfCalls{200};   // time for the last calls of a rank that leaves
constexpr std::size_t kMostCallers = 64;                // callers whose hello is not complete

[[noreturn]] void fail_system(const std::string& what) {
  belay::fail(Code::kUnavailable, what + ": " + std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
}

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

std::string place_of(int rank) { return "rank-" + std::to_string(rank); }

bool wait_for(int fd, short events) {
  pollfd p{fd, events, 0};
  return ::poll(&p, 1, static_cast<int>(kBetweenLooks.count())) > 0;
}

// Returns the token of a board's text "127.0.0.1 4711 TOKEN".
std::string token_in(const std::string& text) {
  std::istringstream parts(text);
  std::string host, port, token;
  parts >> host >> port >> token;
  return token;
}

void prepare(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Lifelines::Lifelines(const Options& options, std::function<void()> on_failure)
    : options_(options), on_failure_(std::move(on_failure)), wake_(::eventfd(0, EFD_CLOEXEC)) {
  std::random_device random;
  for (char& c : token_) c = "0123456789abcdef"[random() % 16];
  meet();
  for (Peer& p : peers_) p.seen = Clock::now();
  thread_ = std::thread([this] { watch(); });
}

Lifelines::~Lifelines() {
  over_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  thread_.join();
}

// ---- meeting ----

// Each rank connects to the ranks below it. Those above it connect to this one.
void Lifelines::meet() {
  Address own = address_of(options_.interface);
  const Descriptor listening(::socket(own.raw.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  auto* raw = reinterpret_cast<sockaddr*>(&own.raw);
  if (listening.get() < 0 || ::bind(listening.get(), raw, own.size) != 0 || ::listen(listening.get(), SOMAXCONN) != 0 ||
      ::getsockname(listening.get(), raw, &own.size) != 0)
    fail_system("interface '" + options_.interface + "' cannot be listened at");
  options_.board->put(place_of(options_.rank), to_text(own) + " " + std::string(token_.data(), token_.size()));
  const Clock::time_point end = Clock::now() + options_.wait;
  for (int r = 0; r < options_.rank; ++r) connect_to(r, end);
  accept_all(listening.get(), end);
}

void Lifelines::check_stopping() const {
  if (options_.stopping && options_.stopping())
    belay::fail(Code::kCancelled, "the run was stopped while other ranks were waited for");
  options_.board->look();
}

void Lifelines::fail_missing(const std::vector<int>& ranks) const {
  std::string names;
  for (const int r : ranks) names += (names.empty() ? "" : ", ") + std::to_string(r);
  std::string text = std::string(ranks.size() == 1 ? "rank " : "ranks ") + names + " of " +
                     std::to_string(options_.size) + " did not come";
  if (refused_ >= 0)
    text += "; a process that claimed to be " + name_of(refused_) +
            " was refused, since it did not have the token that " + name_of(options_.rank) +
            " left at the ranks' meeting place";
  belay::fail(Code::kUnavailable, text);
}

void Lifelines::connect_to(int rank, Clock::time_point end) {
  for (;; std::this_thread::sleep_for(kBetweenLooks)) {
    check_stopping();
    if (Clock::now() > end) fail_missing({rank});
    const std::string text = options_.board->get(place_of(rank));
    const Address address = text.empty() ? Address() : from_text(text);
    if (address.size == 0) continue;
    Descriptor line(::socket(address.raw.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto* raw = reinterpret_cast<const sockaddr*>(&address.raw);
    if (::connect(line.get(), raw, address.size) != 0) {
      if (errno != EINPROGRESS) continue;
      while (Clock::now() < end && !wait_for(line.get(), POLLOUT)) check_stopping();
      int error = 0;
      socklen_t size = sizeof(error);
      if (::getsockopt(line.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) continue;
    }
    prepare(line.get());
    Hello hello{{kAlive, options_.rank}, options_.size, {}};
    const std::string token = token_in(text);
    std::copy_n(token.begin(), std::min(token.size(), hello.token.size()), hello.token.begin());
    if (::send(line.get(), &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) continue;
    if (is_welcome(line.get(), rank, end)) return add_peer(rank, std::move(line));
  }
}

// False: the rank has dropped the line, or time is over.
bool Lifelines::is_welcome(int line, int rank, Clock::time_point end) const {
  Message answer{};
  for (std::size_t have = 0; have < sizeof(answer);) {
    check_stopping();
    if (Clock::now() > end) return false;
    if (!wait_for(line, POLLIN)) continue;
    const ssize_t n = ::recv(line, reinterpret_cast<char*>(&answer) + have, sizeof(answer) - have, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return false;
    have += static_cast<std::size_t>(n);
  }
  if (answer.kind == kRefused)
    belay::fail(Code::kAborted, name_of(rank) + " refused " + name_of(options_.rank) +
                                    ", which does not have the token that " + name_of(rank) +
                                    " left at the ranks' meeting place; start all ranks of one run with the same run "
                                    "directory, or the same rendezvous");
  if (answer.kind == kOtherSize) fail_other_size(rank, answer.rank);
  return answer.kind == kAlive && answer.rank == rank;
}

void Lifelines::fail_other_size(int rank, int size) const {
  belay::fail(Code::kInvalidArgument, name_of(rank) + " was started as one of " + std::to_string(size) +
                                          " ranks, and " + name_of(options_.rank) + " as one of " +
                                          std::to_string(options_.size) +
                                          "; start all ranks with the same number, WORLD_SIZE for instance");
}

// Reads all callers at the same time, so a silent one delays no other.
void Lifelines::accept_all(int listening, Clock::time_point end) {
  std::vector<int> missing;
  for (int r = options_.rank + 1; r < options_.size; ++r) missing.push_back(r);
  std::vector<Caller> callers;
  std::vector<pollfd> fds;
  while (!missing.empty()) {
    check_stopping();
    if (Clock::now() > end) fail_missing(missing);
    fds.assign(1, {listening, POLLIN, 0});
    for (const Caller& c : callers) fds.push_back({c.line.get(), POLLIN, 0});
    if (::poll(fds.data(), fds.size(), static_cast<int>(kBetweenLooks.count())) <= 0) continue;
    std::vector<Caller> left;
    for (std::size_t i = 0; i < callers.size(); ++i)
      if (fds[i + 1].revents == 0 || !is_over(callers[i], missing)) left.push_back(std::move(callers[i]));
    callers = std::move(left);
    if (fds[0].revents == 0) continue;
    Caller caller;
    caller.line = Descriptor(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (caller.line.get() < 0) continue;
    if (callers.size() == kMostCallers) callers.erase(callers.begin());  // a rank calls again
    callers.push_back(std::move(caller));
  }
}

// Reads the caller's bytes. True: it has a seat now, or it is no rank.
bool Lifelines::is_over(Caller& caller, std::vector<int>& missing) {
  const ssize_t n = ::recv(caller.line.get(), caller.part + caller.have, sizeof(Hello) - caller.have, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) return true;
  caller.have += static_cast<std::size_t>(n);
  if (caller.have < sizeof(Hello)) return false;
  greet(caller, missing);
  return true;
}

void Lifelines::greet(Caller& caller, std::vector<int>& missing) {
  Hello hello{};
  std::memcpy(&hello, caller.part, sizeof(hello));
  if (hello.message.kind != kAlive) return;  // no rank of this run
  const auto found = std::find(missing.begin(), missing.end(), hello.message.rank);
  Message answer{kAlive, options_.rank};
  if (hello.token != token_) {
    answer.kind = kRefused;
    refused_ = hello.message.rank;
  } else if (hello.size != options_.size) {
    answer = {kOtherSize, options_.size};
  } else if (found == missing.end()) {
    return;
  }
  const bool sent = ::send(caller.line.get(), &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer);
  if (answer.kind == kOtherSize) fail_other_size(hello.message.rank, hello.size);
  if (!sent || answer.kind != kAlive) return;
  missing.erase(found);
  prepare(caller.line.get());
  add_peer(hello.message.rank, std::move(caller.line));
}

void Lifelines::add_peer(int rank, Descriptor line) {
  Peer peer;
  peer.rank = rank;
  peer.line = std::move(line);
  peers_.push_back(std::move(peer));
}

// ---- afterwards ----

// Names the timeout in the message; it is the same on all ranks.
std::string Lifelines::silence_of(int rank) const {
  return name_of(rank) + " has shown no sign of life for " +
         belay::rounded_text(std::chrono::duration<double>(options_.timeout).count()) + " s (cluster.timeout_secs)";
}

void Lifelines::leave() {
  std::unique_lock lock(mutex_);
  leaving_ = true;
  lock.unlock();
  send_to_all({kLeft, options_.rank});
  lock.lock();
  changed_.wait_for(lock, kEndOfCalls, [&] {
    return !failure_.empty() || std::all_of(peers_.begin(), peers_.end(),
                                            [](const Peer& p) { return p.gone || p.left != Clock::time_point(); });
  });
}

std::string Lifelines::failure(std::chrono::milliseconds wait) const {
  std::unique_lock lock(mutex_);
  if (wait.count() > 0) changed_.wait_for(lock, wait, [&] { return !failure_.empty(); });
  return failure_;
}

void Lifelines::watch() {
  const auto beat = std::max<std::chrono::nanoseconds>(options_.timeout / 4, std::chrono::milliseconds(1));
  Clock::time_point next = Clock::now();
  std::vector<pollfd> fds;
  while (!over_) {
    if (Clock::now() >= next) {
      send_to_all({kAlive, options_.rank});
      next = Clock::now() + beat;
    }
    fds.assign(1, {wake_.get(), POLLIN, 0});
    bool leaving = false;  // true: a peer leaves, and its last calls are awaited
    for (const Peer& p : peers_) {
      fds.push_back({p.gone ? -1 : p.line.get(), POLLIN, 0});
      leaving = leaving || p.left != Clock::time_point();
    }
    auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now());
    if (leaving && failure().empty()) wait = std::min<std::chrono::milliseconds>(wait, kBetweenLooks);
    ::poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(wait.count(), 0)) + 1);
    for (std::size_t i = 0; i < peers_.size(); ++i)
      if ((fds[i + 1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) read(peers_[i]);
    look_at_times();
  }
}

void Lifelines::read(Peer& peer) {
  for (;;) {
    const ssize_t n = ::recv(peer.line.get(), peer.part + peer.have, sizeof(Message) - peer.have, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      {
        const std::lock_guard lock(mutex_);
        peer.gone = true;
      }
      changed_.notify_all();
      if (peer.left == Clock::time_point()) fail(name_of(peer.rank) + " has ended or left", peer.rank, kEnded);
      return;
    }
    peer.seen = Clock::now();
    peer.have += static_cast<std::size_t>(n);
    if (peer.have < sizeof(Message)) continue;
    Message message{};
    std::memcpy(&message, peer.part, sizeof(message));
    peer.have = 0;
    take(peer, message);
  }
}

void Lifelines::take(Peer& peer, const Message& message) {
  switch (message.kind) {
    case kLeft: {
      const std::lock_guard lock(mutex_);
      peer.left = Clock::now();
      changed_.notify_all();
      return;
    }
    case kEnded: return fail(name_of(message.rank) + " has ended or left", message.rank, kEnded);
    case kSilent: return fail(silence_of(message.rank), message.rank, kSilent);
    default: return;
  }
}

void Lifelines::look_at_times() {
  const Clock::time_point now = Clock::now();
  for (Peer& p : peers_) {
    if (p.left != Clock::time_point()) {
      if (now - p.left >= kEndOfCalls) fail(name_of(p.rank) + " has ended or left", p.rank, kEnded);
    } else if (!p.gone && now - p.seen > options_.timeout) {
      fail(silence_of(p.rank), p.rank, kSilent);
    }
  }
}

void Lifelines::send_to_all(const Message& message) {
  for (const Peer& p : peers_)  // a full line has a reader that hangs; its silence will show it
    ::send(p.line.get(), &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Lifelines::fail(const std::string& why, int rank, std::int32_t kind) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty() || leaving_ || rank == options_.rank) return;
    failure_ = why;
  }
  changed_.notify_all();
  send_to_all({kind, rank});
  on_failure_();
}

}  // namespace belay_gloo
