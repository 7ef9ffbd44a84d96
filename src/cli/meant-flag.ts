/** Flags of other tools, with their equivalents here. */
const MEANT: Record<string, string> = {
  '--width': '--viewport-width',
  '--height': '--viewport-height',
  '--viewport': '--viewport-width and --viewport-height',
  '--scale': '--viewport-device-scale-factor',
  '--scale-factor': '--viewport-device-scale-factor',
  '--device-scale-factor': '--viewport-device-scale-factor',
  '--dpr': '--viewport-device-scale-factor',
  '--retina': '--viewport-device-scale-factor 2',
  '--mobile': '--viewport-is-mobile, or --device',
  '--type': '--format',
  '--element': '--selector',
  '--wait': '--delay',
  '--wait-for': '--wait-for-selector',
  '--css': '--custom-css',
  '--style': '--custom-css',
  '--js': '--custom-js',
  '--javascript': '--custom-js',
  '--script': '--custom-js',
  '--headers': '--header',
  '--cookie': '--cookies with JSON, such as [{"name":"a","value":"b"}]',
  '--stdin': 'stillframe capture -',
  '--url': 'stillframe capture <url>',
  '--file': '--output',
  '--out': '--output',
  '--overwrite': '--force',
  '--markdown': '--inspect-page',
  '--proxy': '--proxy-server',
};

/** Adds the equivalent flag to a usage error about a flag of another tool. */
export function sayMeant(error: string): string {
  const [, flag = ''] = /unknown option '(--[\w-]+)/.exec(error) ?? [];
  const meant = Object.hasOwn(MEANT, flag) ? MEANT[flag] : undefined;
  if (meant === undefined) return error;
  const [first = ''] = error.split('\n', 1);
  return `${first}\n(Did you mean ${meant}?)\n`;
}
