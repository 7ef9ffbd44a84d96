/** The names of accounts that commands and pages accept, as a pattern and in words. */
export const ACCOUNT_NAME_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;
export const ACCOUNT_NAME_RULE = '1 to 64 letters, digits, dots, underscores or hyphens';
/** Credits of a quota. */
export const CREDITS_PATTERN = /^\d{1,12}$/;
