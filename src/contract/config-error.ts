/** A wrong setting: one line that names it, the value and what is allowed. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
