<?php

declare(strict_types=1);

namespace Stillframe;

/** The failure of a call. */
class StillframeException extends \RuntimeException
{
    public ?string $jobId; // can still be looked up, and waited for after a timeout
    public ?string $idempotencyKey = null; // a repetition with the same key is neither rendered nor charged twice

    /** @param array<string, mixed> $details such as the `issues` of an invalid request */
    final public function __construct(
        public readonly string $errorCode,
        string $message,
        public readonly bool $retriable = false, // whether the same request may succeed later
        public readonly ?int $status = null, // null without an answer, and for a failure that a job reports
        public readonly array $details = [],
        public readonly ?string $requestId = null,
        public readonly ?string $docsUrl = null,
        public readonly ?float $retryAfter = null, // seconds until the next attempt, if the server sent them
        ?string $jobId = null,
    ) {
        parent::__construct($message);
        $this->jobId = $jobId ?? (is_string($details['job_id'] ?? null) ? $details['job_id'] : null);
    }

    /** @param array<string, mixed> $error that the server reports, in an answer or in a job */
    public static function reported(array $error, ?int $status, ?float $retryAfter, ?string $jobId = null): self
    {
        $details = is_array($error['details'] ?? null) ? $error['details'] : [];
        $hint = is_string($details['hint'] ?? null) ? " {$details['hint']}" : '';
        $class = match ($error['code']) {
            'invalid_request', 'unsupported_option', 'idempotency_conflict' => InvalidRequest::class,
            'unauthorized', 'forbidden' => NotAllowed::class,
            'quota_exceeded', 'rate_limited' => LimitExceeded::class,
            default => $jobId !== null || is_string($details['job_id'] ?? null) ? CaptureFailed::class : self::class,
        };
        [$request, $docs] = array_map(static fn ($text) => is_string($text) ? $text : null, [$error['request_id'] ?? null, $error['docs_url'] ?? null]);
        $retriable = ($error['retriable'] ?? null) === true;
        return new $class($error['code'], $error['message'] . $hint, $retriable, $status, $details, $request, $docs, $retryAfter, $jobId);
    }
}

/** The request is wrong as it stands: an invalid field or argument, or something that does not exist. */
class InvalidRequest extends StillframeException {}
/** The API key is unknown, revoked, or lacks a scope. */
class NotAllowed extends StillframeException {}
/** The rate limit or the credits of the account are exhausted. */
class LimitExceeded extends StillframeException {}
/** The capture has failed; `jobId` names its job. */
class CaptureFailed extends StillframeException {}
/** There was no answer, or one that was cut off. */
class ConnectionFailed extends StillframeException {}
/** The call took longer than its timeout. A capture continues on the server. */
class CallTimeout extends StillframeException {}
/** The answer is not one of stillframe, such as the error page of a proxy. */
class UnexpectedResponse extends StillframeException {}
/** A webhook request is not genuine, or too old. */
class InvalidSignature extends StillframeException {}
