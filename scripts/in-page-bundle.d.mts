import type { Plugin as EsbuildPlugin } from 'esbuild';
import type { Plugin as VitePlugin } from 'vite';

export function inPageForEsbuild(): EsbuildPlugin;
export function inPageForVite(): VitePlugin;
export function bundleForPage(entry: string): Promise<string>;
