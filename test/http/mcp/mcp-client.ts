import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult, ImageContent } from '@modelcontextprotocol/sdk/types.js';

/** The official client, and what a tool returned, by kind. */
export interface McpClient extends AsyncDisposable {
  client: Client;
  call(name: string, args: Record<string, unknown>): Promise<ToolAnswer>;
}

export interface ToolAnswer {
  isError: boolean;
  /** The first block: the facts of a job, or an error. */
  // biome-ignore lint/suspicious/noExplicitAny: a client's view of JSON
  facts: any;
  texts: string[];
  images: { content: Buffer; mimeType: string }[];
  /** Bytes of the whole result on the wire. */
  bytes: number;
}

export async function connectHttp(url: string, key: string): Promise<McpClient> {
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  return connected(new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit }));
}

export async function connected(transport: Parameters<Client['connect']>[0]): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  return {
    client,
    call: async (name, args) => answerOf((await client.callTool({ name, arguments: args })) as CallToolResult),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export function answerOf({ isError, content }: CallToolResult): ToolAnswer {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const images = content.filter((block): block is ImageContent => block.type === 'image');
  return {
    isError: isError === true,
    facts: JSON.parse(texts[0] ?? '{}'),
    texts: texts.slice(1),
    images: images.map(({ data, mimeType }) => ({ content: Buffer.from(data, 'base64'), mimeType })),
    bytes: JSON.stringify(content).length,
  };
}

const BOUNDED = /<<<page-content ([0-9a-f]{24})\n([\s\S]*)\npage-content \1>>>$/;

/** Returns the part of a text inside the untrusted boundary. */
export function insideOf(text = ''): string {
  return BOUNDED.exec(text)?.[2] ?? '';
}

/** All of an answer's text that stands outside the boundary. */
export function outsideOf(facts: unknown, texts: readonly string[]): string {
  return [JSON.stringify(facts), ...texts.map((text) => text.replace(BOUNDED, ''))].join('\n');
}
