/** An invalid setting: one line that names it, its value and the allowed values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
