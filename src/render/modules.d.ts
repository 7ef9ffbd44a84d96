/** Types of modules that have none of their own. */

/** An in-page program, bundled to one script by scripts/built-modules.mjs. */
declare module '*?bundled' {
  /** The script, which sets a global variable `stillframe` to the program's exports. */
  export const source: string;
}

/** Playwright's devices, listed by scripts/built-modules.mjs. */
declare module 'playwright-core?devices' {
  export const devices: {
    name: string;
    userAgent: string;
    width: number;
    height: number;
    deviceScaleFactor: number;
    isMobile: boolean;
    hasTouch: boolean;
  }[];
}

declare module '@joplin/turndown-plugin-gfm' {
  import type TurndownService from 'turndown';

  export const strikethrough: TurndownService.Plugin;
  export const tables: TurndownService.Plugin;
}
