// Keeps the files of one build, and answers from them.
const VERSION = __VERSION__;
const FILES = __FILES__;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  const others = caches.keys().then((names) => names.filter((name) => name !== VERSION));
  event.waitUntil(others.then((names) => Promise.all(names.map((name) => caches.delete(name)))));
  self.clients.claim();
});

self.addEventListener("fetch", (event) => {
  const kept = caches.match(event.request, { ignoreSearch: true, ignoreVary: true });
  event.respondWith(kept.then((found) => found ?? fetch(event.request)));
});
