import { pino } from 'pino';

/** The one log of the process, on stderr: JSON lines, or pretty on a terminal. Secrets are redacted by path as a last resort. */
export type Log = pino.Logger;

export interface LogOptions {
  level: string;
  format: 'json' | 'pretty';
}

const REDACTED = ['authorization', 'password', 'secret', '*.authorization', '*.password', '*.secret', 'headers', '*.headers'];

export function createLog(options: LogOptions): Log {
  const settings = { level: options.level, redact: { paths: REDACTED, censor: '[redacted]' }, base: null };
  if (options.format === 'json') return pino(settings, pino.destination({ dest: 2, sync: true }));
  return pino({
    ...settings,
    transport: { target: 'pino-pretty', options: { destination: 2, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true } },
  });
}

/** For tests and commands that log nothing. */
export function silentLog(): Log {
  return pino({ level: 'silent' });
}
