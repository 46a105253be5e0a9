// Browsers start no worker for a page that was opened from the disk. There, the search runs in a hidden frame that
// behaves as a worker towards its script and towards the page. From a server this file does nothing.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = async (...urls) => { for (const one of urls) await load(inside, one); };
      this.deliver = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      load(inside, url).then(() => { this.waiting.forEach(this.deliver); this.waiting = null; });
    }
    postMessage(data) { if (this.waiting) this.waiting.push(data); else this.deliver(data); }
    terminate() {}
  };
  const load = (inside, url) => new Promise((done, failed) => {
    const script = inside.document.createElement("script");
    script.src = url;
    script.onload = done;
    script.onerror = failed;
    inside.document.body.appendChild(script);
  });
  window.Worker = window.IFrameWorker;
}
