import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Log } from '../../log.js';
import type { McpBackend } from './backend.js';
import { createMcpServer } from './server.js';

/** The client's text may be in it. */
const REASON_MAX_CHARS = 200;

/**
 * Serves one client on standard input and output, which carry nothing else. Resolves when the client has closed its end, or on the signal;
 * captures that are still running are then not waited for.
 */
export async function serveStdio(backend: McpBackend, { stop, log }: { stop: AbortSignal; log: Log }): Promise<void> {
  const server = createMcpServer(backend);
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
    process.stdin.once('end', resolve).once('close', resolve);
    stop.addEventListener('abort', () => resolve());
  });
  server.onerror = ({ message }) => log.warn({ reason: message.slice(0, REASON_MAX_CHARS) }, 'a message could not be read');
  await server.connect(new StdioServerTransport());
  await closed;
  await server.close();
}
