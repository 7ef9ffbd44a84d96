import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { listen } from '../../fixtures/listen.js';
import { ofFile } from '../../fixtures/of-file.js';
import { siteAndRig } from './capture-rig.js';

/** A frame of the protocol with this text, which is shorter than 126 bytes. */
const frame = (text: string) => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);
/** The key that the protocol adds to a client's (RFC 6455, section 1.3). */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** How long the server takes to send its first message, unless the path says otherwise. */
const MESSAGE_AFTER_MS = 900;

const server = createServer();
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  const timer = setTimeout(() => socket.write(frame('#00f')), Number(request.url?.slice(1)) || MESSAGE_AFTER_MS);
  socket.on('error', () => socket.destroy()).once('close', () => clearTimeout(timer));
});
const { origin } = await ofFile(listen(server, '127.0.0.1'));
const { site, rig, serve } = await siteAndRig();
site.route('/token', (_request, response) => response.end('token'));

/** The races between the page's clock and the opening of its socket, decided against the clock. */
const OPENED: Record<string, string> = {
  'at once': 'connect()',
  'by a timer, when nothing else is due': 'onload = () => setTimeout(connect, 50)',
  'after a response that the page handles slowly':
    "onload = () => setTimeout(async () => { await (await fetch('/token')).text(); work(100); connect() }, 50)",
  'at once, while the page shows that it waits, and no message comes for long':
    "document.querySelector('p').textContent = 'Connecting…'; connect('/2500')",
  'late, by a page that works':
    'onload = () => { const busy = setInterval(() => work(90), 100); setTimeout(() => { clearInterval(busy); connect() }, 1500) }',
};

it.each(Object.entries(OPENED))(
  'a page shows what its server sends over a socket that is opened %s',
  async (_when, script) => {
    const code = `
    const work = (ms) => { for (const end = performance.now() + ms; performance.now() < end; ); };
    const connect = (path = '') => { new WebSocket('${origin.replace('http', 'ws')}' + path).onmessage = ({ data }) => { document.body.style.background = data } };
    ${script}`;
    const { content } = await rig.capture(serve(`<p>Words</p><script>${code}</script>`));
    const pixel = await sharp(content).extract({ left: 400, top: 300, width: 1, height: 1 }).raw().toBuffer();
    expect([...pixel].slice(0, 3)).toEqual([0, 0, 255]);
  },
);
