/// One HTTP exchange on a libcurl easy handle: request out, status, headers and body in. libcurl
/// stays in transfer.cc and loop.cc. Thread rule: made, driven and destroyed on the client's
/// thread.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/api.h"
#include "client/secrets.h"

namespace tessera::client {

class Transfer {
 public:
  struct Options {
    std::string user_agent;
    std::chrono::milliseconds timeout{0};  ///< 0: none
    bool own_connection = false;           ///< HTTP/1.1 on a connection that nobody else uses
  };

  /// `request` must outlive the transfer: its body is sent from where it lies.
  Transfer(const ApiRequest& request, const Credentials& credentials, const Secrets& secrets,
           const Options& options);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void* easy() const { return easy_; }
  void set_tag(void* tag);  ///< comes back by tag_of(easy)
  static void* tag_of(void* easy);

  std::function<void(int status)> on_headers;  ///< the final status, once
  std::function<bool(std::string_view chunk)>
      on_chunk;  ///< takes the body of a 2xx answer; false ends the transfer

  /// The answer once libcurl is done with result `curl_code`. Call once.
  ApiResponse finish(int curl_code);

 private:
  static std::size_t write(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t header(char* data, std::size_t size, std::size_t count, void* self);
  void set_request(const ApiRequest& request, const Credentials& credentials,
                   const Secrets& secrets);
  void set_tls(const Credentials& credentials, const Secrets& secrets);
  void set_connection(const Credentials& credentials, const Options& options);
  void add_header(const std::string& line);
  bool take(std::string_view chunk);
  void note_header(std::string_view line);

  void* easy_ = nullptr;
  void* headers_ = nullptr;     // curl_slist
  void* connect_to_ = nullptr;  // curl_slist
  std::array<char, 256> error_{};
  std::string body_;
  std::string problem_;
  int status_ = 0;
  bool announced_ = false;
};

/// Fills the process-wide tables of libcurl once.
void prepare_transport();

}  // namespace tessera::client
