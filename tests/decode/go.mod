module decode

go 1.19
