/*
 * What Go programs for Windows need and wine 8.0 lacks. Every Go program loads
 * bcryptprimitives.dll when it starts; .ci/test-windows builds it and puts it into the
 * system32 directory of its wine prefix.
 *
 * 1. ProcessPrng, the source of random bytes, which wine has from version 9.0 on. advapi32's
 *    SystemFunction036, also known as RtlGenRandom, does the same.
 *
 * 2. NtSetInformationFile's answer to an information class that it does not know.
 *    Go's os.RemoveAll and os.Root.Remove ask for FileDispositionInformationEx and
 *    fall back to FileDispositionInformation on STATUS_NOT_SUPPORTED, which is what FAT
 *    answers; wine answers STATUS_NOT_IMPLEMENTED ("Invalid function").
 *
 * 3. GetFileInformationByHandle's volume of a file that is renamed while it is open:
 *    wine's is 0 from then on, so that os.SameFile takes it for another file. Here it is 0
 *    for all files: the index alone tells them apart.
 *
 * 4. WSAIoctl's SIO_UDP_NETRESET, without which Go opens no UDP socket.
 *
 * 5. AcceptEx's error for a connection that its peer has reset before it was accepted.
 *    Microsoft documents WSAECONNRESET, after which Go accepts the next connection; wine
 *    gives WSAENOTCONN, at which Go's Accept fails and an http.Server ends: each later
 *    connection is refused.
 *
 * 6. A console that refuses ENABLE_VIRTUAL_TERMINAL_PROCESSING, as those before Windows 10 do,
 *    where the environment has WINE_OLD_CONSOLE. (wine's console takes it, and then shows
 *    escape sequences as they are.)
 *
 * For 2 to 6: Go finds functions with GetProcAddress, whose entry in the program's import
 * table is replaced.
 */
#include <winsock2.h>
#include <mswsock.h>
#include <windows.h>
#include <winternl.h>

#define STATUS_NOT_IMPLEMENTED ((NTSTATUS)0xC0000002)
#define STATUS_NOT_SUPPORTED ((NTSTATUS)0xC00000BB)

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
NTSTATUS NTAPI NtSetInformationFile(HANDLE, PIO_STATUS_BLOCK, PVOID, ULONG, FILE_INFORMATION_CLASS);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)
{
	while (length > 0) {
		ULONG part = length > 0x40000000 ? 0x40000000 : (ULONG)length;

		if (!SystemFunction036(data, part))
			return FALSE;
		data += part;
		length -= part;
	}
	return TRUE;
}

static NTSTATUS NTAPI set_information(HANDLE file, PIO_STATUS_BLOCK status, PVOID info, ULONG length,
	FILE_INFORMATION_CLASS class)
{
	NTSTATUS got = NtSetInformationFile(file, status, info, length, class);

	return got == STATUS_NOT_IMPLEMENTED ? STATUS_NOT_SUPPORTED : got;
}

static BOOL WINAPI file_information(HANDLE file, LPBY_HANDLE_FILE_INFORMATION info)
{
	BOOL ok = GetFileInformationByHandle(file, info);

	if (ok)
		info->dwVolumeSerialNumber = 0;
	return ok;
}

static int WSAAPI ioctl(SOCKET socket, DWORD code, LPVOID in, DWORD in_length, LPVOID out, DWORD out_length,
	LPDWORD returned, LPWSAOVERLAPPED overlapped, LPWSAOVERLAPPED_COMPLETION_ROUTINE done)
{
	const DWORD udp_netreset = IOC_IN | IOC_VENDOR | 15;
	int failed = WSAIoctl(socket, code, in, in_length, out, out_length, returned, overlapped, done);

	return code == udp_netreset ? 0 : failed;
}

/* accept_error corrects the last error of an operation on a socket that listens. */
static void accept_error(SOCKET socket)
{
	BOOL listens = FALSE;
	int length = sizeof(listens);

	if (WSAGetLastError() != WSAENOTCONN)
		return;
	if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, (char *)&listens, &length) == 0 && listens)
		WSASetLastError(WSAECONNRESET);
	else
		WSASetLastError(WSAENOTCONN);
}

static BOOL PASCAL accept_ex(SOCKET listener, SOCKET accepted, PVOID buffer, DWORD data_length, DWORD local_length,
	DWORD remote_length, LPDWORD received, LPOVERLAPPED overlapped)
{
	BOOL ok = AcceptEx(listener, accepted, buffer, data_length, local_length, remote_length, received, overlapped);

	if (!ok)
		accept_error(listener);
	return ok;
}

static BOOL WSAAPI overlapped_result(SOCKET socket, LPWSAOVERLAPPED overlapped, LPDWORD transferred, BOOL wait,
	LPDWORD flags)
{
	BOOL ok = WSAGetOverlappedResult(socket, overlapped, transferred, wait, flags);

	if (!ok)
		accept_error(socket);
	return ok;
}

static BOOL WINAPI set_console_mode(HANDLE console, DWORD mode)
{
	CONSOLE_SCREEN_BUFFER_INFO info; /* which an output has; the same bit of an input's mode is another one */

	if ((mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING) && GetEnvironmentVariableA("WINE_OLD_CONSOLE", NULL, 0) > 0 &&
	    GetConsoleScreenBufferInfo(console, &info)) {
		SetLastError(ERROR_INVALID_PARAMETER);
		return FALSE;
	}
	return SetConsoleMode(console, mode);
}

static FARPROC WINAPI get_proc_address(HMODULE module, LPCSTR name)
{
	if ((ULONG_PTR)name <= 0xffff) /* an ordinal */
		return GetProcAddress(module, name);
	if (lstrcmpA(name, "NtSetInformationFile") == 0)
		return (FARPROC)set_information;
	if (lstrcmpA(name, "GetFileInformationByHandle") == 0)
		return (FARPROC)file_information;
	if (lstrcmpA(name, "WSAIoctl") == 0)
		return (FARPROC)ioctl;
	if (lstrcmpA(name, "SetConsoleMode") == 0)
		return (FARPROC)set_console_mode;
	if (lstrcmpA(name, "AcceptEx") == 0)
		return (FARPROC)accept_ex;
	if (lstrcmpA(name, "WSAGetOverlappedResult") == 0)
		return (FARPROC)overlapped_result;
	return GetProcAddress(module, name);
}

/* redirect replaces the program's import of GetProcAddress. */
static void redirect(void)
{
	BYTE *base = (BYTE *)GetModuleHandleA(NULL);
	IMAGE_NT_HEADERS *headers = (IMAGE_NT_HEADERS *)(base + ((IMAGE_DOS_HEADER *)base)->e_lfanew);
	IMAGE_DATA_DIRECTORY *dir = &headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
	IMAGE_IMPORT_DESCRIPTOR *imports = (IMAGE_IMPORT_DESCRIPTOR *)(base + dir->VirtualAddress);
	FARPROC original;

	if (dir->Size == 0)
		return;
	original = GetProcAddress(GetModuleHandleA("kernel32.dll"), "GetProcAddress");
	for (; imports->FirstThunk; imports++) {
		FARPROC *entry = (FARPROC *)(base + imports->FirstThunk);

		for (; *entry; entry++) {
			DWORD old;

			if (*entry != original || !VirtualProtect(entry, sizeof(*entry), PAGE_READWRITE, &old))
				continue;
			*entry = (FARPROC)get_proc_address;
			VirtualProtect(entry, sizeof(*entry), old, &old);
		}
	}
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved)
{
	(void)reserved;
	if (reason == DLL_PROCESS_ATTACH) {
		DisableThreadLibraryCalls(self);
		redirect();
	}
	return TRUE;
}
