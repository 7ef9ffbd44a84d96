/** A page that tries every network channel of a browser, towards addresses that it must not reach. */

export interface Canary {
  /** `host:port` in every spelling that is to be tried; the first is used for everything. */
  places: string[];
  udpPort: number;
}

export function channelsPage({ places, udpPort }: Canary): string {
  const at = places[0] ?? '';
  const host = at.replace(/:\d+$/, '');
  const images = places.map((place, index) => `<img src="http://${place}/img${index}">`).join('\n');
  return `<!doctype html><html><head><title>channels</title>
<link rel="icon" href="http://${at}/icon">
<link rel="stylesheet" href="http://${at}/css">
<link rel="preload" as="script" href="http://${at}/preload">
<link rel="modulepreload" href="http://${at}/modulepreload">
<link rel="prefetch" href="http://${at}/prefetch">
<link rel="preconnect" href="http://${at}">
<link rel="dns-prefetch" href="//canary.example.net">
<link rel="prerender" href="http://${at}/prerender">
<link rel="manifest" href="http://${at}/manifest">
<script type="speculationrules">{"prerender":[{"urls":["http://${at}/rules"]}],"prefetch":[{"urls":["http://${at}/rules2"],"requires":["anonymous-client-ip-when-cross-origin"]}]}</script>
<style>@import url(http://${at}/import); @font-face{font-family:f;src:url(http://${at}/font)} body{font-family:f;background:url(http://${at}/bg);cursor:url(http://${at}/cursor),auto}</style>
<meta http-equiv="refresh" content="600;url=http://${at}/refresh">
</head><body>text
${images}
<svg><image href="http://${at}/svg-image"/><use href="http://${at}/svg-use#a"/></svg>
<iframe src="http://${at}/frame"></iframe><iframe srcdoc='<img src="http://${at}/srcdoc">'></iframe>
<object data="http://${at}/object"></object><embed src="http://${at}/embed">
<video src="http://${at}/video" autoplay muted poster="http://${at}/poster"></video><audio src="http://${at}/audio" autoplay></audio>
<form id="f" method="post" target="sink" action="http://${at}/form">form</form><iframe name="sink"></iframe>
<a id="a" href="http://${at}/a" ping="http://${at}/ping" target="sink">a</a>
<script src="http://${at}/script"></script>
<script>
const tried = [];
const attempt = async (name, action) => { try { await action(); } catch (error) {} tried.push(name); };
const patience = (promise) => Promise.race([promise, new Promise((done) => setTimeout(done, 4000))]);
const worker = (code) => new Worker(URL.createObjectURL(new Blob([code])));
addEventListener('load', async () => {
  await attempt('fetch', () => fetch('http://${at}/fetch', { mode: 'no-cors' }));
  await attempt('keepalive', () => fetch('http://${at}/keepalive', { mode: 'no-cors', keepalive: true, method: 'POST', body: 'x' }));
  await attempt('xhr', () => new Promise((done) => { const x = new XMLHttpRequest(); x.onloadend = done; x.open('GET', 'http://${at}/xhr'); x.send(); }));
  await attempt('beacon', () => navigator.sendBeacon('http://${at}/beacon', 'x'));
  await attempt('eventsource', () => new Promise((done) => { const e = new EventSource('http://${at}/es'); e.onerror = () => { e.close(); done(); }; }));
  for (const scheme of ['ws', 'wss']) await attempt(scheme, () => new Promise((done) => { const w = new WebSocket(scheme + '://${at}/ws'); w.onerror = w.onopen = done; }));
  await attempt('worker', () => patience(new Promise((done) => { worker("fetch('http://${at}/wf',{mode:'no-cors'}).catch(()=>0).then(()=>{const w=new WebSocket('ws://${at}/ww');w.onerror=()=>postMessage(1)});try{importScripts('http://${at}/wi')}catch(e){}").onmessage = done; })));
  await attempt('shared worker', () => { new SharedWorker('/shared-worker.js'); });
  await attempt('service worker', () => patience(navigator.serviceWorker.register('/service-worker.js').then(() => navigator.serviceWorker.ready)));
  await attempt('open', () => window.open('http://${at}/open'));
  await attempt('form', () => document.getElementById('f').submit());
  await attempt('ping', () => document.getElementById('a').click());
  await attempt('redirect', () => fetch('/redirect', { mode: 'no-cors' }));
  await attempt('webtransport', () => patience(new WebTransport('https://${host}:${udpPort}/wt').ready));
  await attempt('rtc', async () => {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: ['stun:${host}:${udpPort}', 'stun:canary.example.net:${udpPort}'] }, { urls: ['turn:${host}:${udpPort}?transport=udp', 'turn:${at}?transport=tcp', 'turns:${at}?transport=tcp'], username: 'u', credential: 'c' }] });
    peer.createDataChannel('x');
    const gathered = new Promise((done) => { peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done(); });
    await peer.setLocalDescription(await peer.createOffer());
    await patience(gathered);
    const candidates = (peer.localDescription.sdp.match(/a=candidate.*/g) || []);
    tried.push('candidates ' + candidates.length);
    await peer.addIceCandidate({ candidate: 'candidate:1 1 udp 2113937151 ${host} ${udpPort} typ host', sdpMid: '0' });
  });
  await attempt('dns', () => fetch('http://canary.example.net:${at.split(':').at(-1)}/dns', { mode: 'no-cors' }));
  await attempt('file', () => fetch('file:///etc/passwd'));
  await attempt('ftp', () => fetch('ftp://${at}/'));
  await fetch('/tried?' + encodeURIComponent(JSON.stringify(tried))).catch(() => 0);
  document.body.append(Object.assign(document.createElement('p'), { id: 'done', textContent: 'done' }));
});
</script></body></html>`;
}

export const WORKER_SCRIPTS: Record<string, (at: string) => string> = {
  '/shared-worker.js': (at) =>
    `fetch('http://${at}/shared', { mode: 'no-cors' }).catch(() => 0); new WebSocket('ws://${at}/sharedws');`,
  '/service-worker.js': (at) =>
    `addEventListener('install', (event) => event.waitUntil(fetch('http://${at}/sw', { mode: 'no-cors' }).catch(() => skipWaiting())));`,
};
