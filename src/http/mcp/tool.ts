import type { CallToolResult, Tool as ToolListing } from '@modelcontextprotocol/sdk/types.js';
import type { McpBackend } from './backend.js';

/** A tool: what clients are told of it, and what it does. */
export interface Tool {
  listing: ToolListing;
  /** @throws CaptureError, which becomes the result */
  call(backend: McpBackend, args: Record<string, unknown>): Promise<CallToolResult>;
}
