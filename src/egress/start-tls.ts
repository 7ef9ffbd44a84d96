import { addAbortListener } from 'node:events';
import { isIP, type Socket } from 'node:net';
import { DialFailure } from './dial.js';

interface TlsPeer {
  host: string;
  ca: string[] | undefined;
  /** Time limit of the handshake. */
  timeoutMs: number;
}

/**
 * Starts TLS over a connection, and verifies the peer's certificate against its name.
 *
 * @param peer.ca PEM certificates to trust instead of the system's
 * @throws DialFailure, or the TLS error, and closes the connection
 */
export async function startTls(socket: Socket, peer: TlsPeer, signal: AbortSignal): Promise<Socket> {
  const host = peer.host.replace(/^\[|\]$/g, '');
  // Loaded only when it is used, since it delays the start of a single capture's browser. The connection may break meanwhile.
  socket.on('error', () => socket.destroy());
  const { connect } = await import('node:tls');
  if (socket.destroyed) throw new DialFailure('ECONNRESET', 'the peer closed the connection before the TLS handshake');
  const secured = connect({
    socket,
    host,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(peer.ca === undefined ? {} : { ca: peer.ca }),
  });
  const timer = setTimeout(
    () => secured.destroy(new DialFailure('ETIMEDOUT', 'the TLS handshake took too long')),
    peer.timeoutMs,
  );
  const abandon = () => secured.destroy(new DialFailure('ECONNABORTED', 'the connection is no longer needed'));
  using _abandoning = addAbortListener(signal, abandon);
  try {
    await new Promise<void>((resolve, reject) => {
      secured.once('secureConnect', resolve);
      secured.on('error', reject);
      secured.once('close', () =>
        reject(new DialFailure('ECONNRESET', 'the peer closed the connection during the TLS handshake')),
      );
    });
    return secured;
  } catch (error) {
    secured.destroy();
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
