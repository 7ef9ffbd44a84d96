import type { Plugin as EsbuildPlugin } from 'esbuild';
import type { Plugin as VitePlugin } from 'vite';

export function builtModulesForEsbuild(): EsbuildPlugin;
export function builtModulesForVite(): VitePlugin;
export function bundleForPage(entry: string): Promise<string>;
