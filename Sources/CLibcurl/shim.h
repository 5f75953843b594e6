// `curl_easy_setopt`, `curl_multi_setopt` and `curl_easy_getinfo` are variadic, which Swift cannot call: one typed
// function a shape of argument. Header only.
#ifndef MAGPIE_CLIBCURL_SHIM_H
#define MAGPIE_CLIBCURL_SHIM_H

#include <curl/curl.h>

static inline CURLcode clibcurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl copies the text, except for CURLOPT_POSTFIELDS.
static inline CURLcode clibcurl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_url(CURL *easy, CURLU *url) {
  return curl_easy_setopt(easy, CURLOPT_CURLU, url);
}

// Write and header callbacks have the same shape.
typedef size_t (*clibcurl_data_callback)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode clibcurl_set_data_callback(CURL *easy, CURLoption option, clibcurl_data_callback callback) {
  return curl_easy_setopt(easy, option, callback);
}

static inline CURLcode clibcurl_set_opensocket(CURL *easy, curl_opensocket_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode clibcurl_set_closesocket(CURL *easy, curl_closesocket_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode clibcurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode clibcurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode clibcurl_get_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode clibcurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode clibcurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode clibcurl_multi_set_socket(CURLM *multi, curl_socket_callback callback) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}

static inline CURLMcode clibcurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}

// Macros with casts, which Swift does not import.
static inline long clibcurl_global_default(void) { return CURL_GLOBAL_DEFAULT; }
static inline curl_socket_t clibcurl_socket_timeout(void) { return CURL_SOCKET_TIMEOUT; }
static inline curl_socket_t clibcurl_socket_bad(void) { return CURL_SOCKET_BAD; }

// The result of a transfer that is done (CURLMSG_DONE); the union has no name in Swift.
static inline CURLcode clibcurl_result(const CURLMsg *message) { return message->data.result; }

#endif
