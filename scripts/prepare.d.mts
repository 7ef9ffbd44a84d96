export function ensureClientTypes(): void;
